"""Which operations and modules bend the map from input to output."""

from __future__ import annotations

#: Autograd operations that are not affine in what they read (products of two values that both vary among them).
NONLINEAR_OPERATIONS = frozenset(
    {
        "Relu", "Threshold", "Sigmoid", "Tanh", "Softmax", "Gelu", "Silu", "LeakyRelu", "Elu", "Selu", "Celu",
        "Hardtanh", "Hardsigmoid", "Hardswish", "Hardshrink", "Softsign", "Softplus", "Mish", "Prelu",
        "PreluKernel", "RreluWithNoise", "Glu", "LogSigmoid", "LogSigmoidForward", "LogSoftmax", "Erf", "Sin",
        "Cos", "Tan", "Atan", "Sinh", "Cosh", "Exp", "Log", "Pow", "Square", "Sqrt", "Rsqrt", "Reciprocal",
        "Norm", "LinalgVectorNorm", "Abs", "Sign", "Round", "Floor", "Max", "Maximum", "Minimum", "Amax",
        "Clamp", "ClampMin", "MaxPool1DWithIndices", "MaxPool2DWithIndices", "MaxPool3DWithIndices",
        "AdaptiveMaxPool2D", "Mul", "Bmm", "Mm", "ScaledDotProductFlashAttentionForCpu",
        "ScaledDotProductEfficientAttention",
    }
)  # fmt: skip
#: Kinds of module (details of a place) that are affine, and that are not.
LINEAR_KINDS = frozenset({"linear", "convolution"})
NONLINEAR_KINDS = frozenset({"activation", "recurrent", "attention"})
