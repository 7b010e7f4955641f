"""The loss, read from the autograd graph: its terms, their sign, factor and reduction, and what feeds them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from neuraldbg.observe import autograd
from neuraldbg.observe.autograd import Node, children, operation, saved, saved_tensor, shape
from neuraldbg.observe.similarity import similarity_of

#: Loss operations of the library, by autograd name.
LIBRARY_LOSSES = {
    "NllLoss": "cross_entropy",
    "NllLoss2D": "cross_entropy",
    "NllLossNd": "cross_entropy",
    "CrossEntropyLoss": "cross_entropy",
    "MseLoss": "mse",
    "L1Loss": "l1",
    "SmoothL1Loss": "smooth_l1",
    "HuberLoss": "huber",
    "BinaryCrossEntropy": "binary_cross_entropy",
    "BinaryCrossEntropyWithLogits": "binary_cross_entropy_with_logits",
    "SoftMarginLoss": "soft_margin",
    "MultiMarginLoss": "multi_margin",
    "CtcLoss": "ctc",
    "CudnnCtcLoss": "ctc",
}
_REDUCTIONS = {0: "none", 1: "mean", 2: "sum"}
#: Divided by a count that was computed, further up: whatever is summed below is an average.
_COUNTED = "counted"
_SCALAR_STEPS = frozenset(
    {"Add", "Sub", "Mul", "Div", "Neg", "Mean", "Sum", "ToCopy", "Stack", "Cat", "Rsub", "Nansum"}
)
_THROUGH = autograd.REARRANGING | {"Where", "MaskedFill", "Clamp", "ClampMin", "ClampMax", "NanToNum"}


@dataclass
class Term:
    """One additive part of the loss."""

    #: ``cross_entropy``, ``mse``, ``handmade_square``, ``handmade_absolute``, ``other`` ...
    kind: str
    node: Node
    #: +1 or -1: the sign with which it enters what is minimized.
    sign: int = 1
    #: Product of constant factors on the way to the root (Python numbers and 0-dim tensors).
    factor: float = 1.0
    #: mean, sum or none; what the library op says, or the last reduction above a hand-written one.
    reduction: str = "mean"
    #: Node of what the term reads as its prediction.
    prediction: Node | None = None
    prediction_shape: tuple[int, ...] | None = None
    target_shape: tuple[int, ...] | None = None
    residual_shape: tuple[int, ...] | None = None
    #: Operations from the term down to the first one that is not an output activation, nearest the loss first.
    chain: tuple[str, ...] = ()
    weighted: bool = False
    #: Which operand of the subtraction the prediction is, for hand-written residuals.
    operand: int = 0
    extra: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.reduction == _COUNTED:
            self.reduction = "mean"

    @property
    def broadcasts(self) -> bool:
        """Whether prediction and target were stretched against each other to a shape that neither of them had."""
        wide, own = self.residual_shape, self.prediction_shape
        if wide is None or own is None or wide == own:
            return False
        return math.prod(wide) > math.prod(own) > 0


_OUTPUT_OPERATIONS = frozenset(
    {
        "Softmax", "LogSoftmax", "Sigmoid", "LogSigmoid", "LogSigmoidForward", "Tanh", "Relu", "Log", "Exp",
        "Clamp", "ClampMin",
        "Softplus", "LeakyRelu", "Elu", "HardtanhBackward", "Hardsigmoid", "Threshold", "Gelu", "Silu", "Hardtanh",
    }
)  # fmt: skip


def read_structure(root: Node, is_module_output: Callable[[Node], bool], limit: int = 400) -> list[Term]:
    """The terms of a loss, root first.

    ``is_module_output`` tells nodes that are outputs of watched modules: the walk ends there.
    """
    terms: list[Term] = []
    stack: list[tuple[Node, int, float, str]] = [(root, 1, 1.0, "none")]
    seen: set[Node] = set()
    stretched: tuple[list[int], list[int]] | None = None
    similarity: list[tuple[str, int]] = []
    while stack and len(terms) < 12 and limit > 0:
        limit -= 1
        node, sign, factor, reduction = stack.pop(0)
        name = operation(node)
        if node in seen:
            continue
        seen.add(node)
        stretched = stretched or _stretched(node)
        alike = similarity_of(node)
        if alike is not None and (alike, -sign) not in similarity:
            similarity.append((alike, sign))
        if name in LIBRARY_LOSSES:
            terms.append(_library_term(node, LIBRARY_LOSSES[name], sign, factor, reduction))
            continue
        handmade = _handmade_term(node, sign, factor, reduction)
        if handmade is not None:
            terms.append(handmade)
            continue
        # A model that returns its own loss: look inside as long as the value is a scalar.
        if is_module_output(node) and (shape(node) not in ((), (1,)) or not children(node)):
            terms.append(Term("other", node, sign, factor, reduction, prediction=node))
            continue
        below = children(node)
        if name in ("Mean", "Sum", "Nansum") and reduction != _COUNTED:
            reduction = "mean" if name == "Mean" or reduction == "mean" else "sum"
        if (name in _SCALAR_STEPS or name in _THROUGH) and not _is_normalized(node):
            step = _constant_factor(node, name)
            if name == "Div" and len(below) == 1 and _is_computed(saved(node, "other")):
                # A division by a count that was computed (a masked mean) averages, whatever the count is.
                step, reduction = None, _COUNTED
            for index, child in enumerate(below):
                turned = sign
                if name == "Neg" or (name == "Sub" and index == 1) or (name == "Rsub"):
                    turned = -turned
                if step is not None and step < 0:
                    turned = -turned
                stack.append((child, turned, factor * abs(step) if step is not None else factor, reduction))
            if not below:
                terms.append(Term("other", node, sign, factor, reduction))
            continue
        term = Term("other", node, sign, factor, reduction, prediction=node, prediction_shape=shape(node))
        term.chain, term.prediction = _output_chain(node)
        terms.append(term)
        for child in below:
            stretched = stretched or _stretched(child)
    if terms and stretched is not None:
        terms[0].extra["stretched"] = stretched
    if terms and len(similarity) == 1 and len({term.kind for term in terms}) == 1 and terms[0].kind == "other":
        # Nothing but how alike two things are: the sign says whether they are brought together.
        terms[0].extra["similarity"], terms[0].extra["similarity_sign"] = similarity[0]
    return terms


def _stretched(node: Node) -> tuple[list[int], list[int]] | None:
    """Shapes of an operand and of the result where N values became an N by N table of all pairs."""
    wide = shape(node)
    if wide is None or len(wide) < 2 or operation(node) not in ("Sub", "Add", "Mul", "Div", "Rsub"):
        return None
    below = children(node)
    if len(below) != 1:
        return None
    own = shape(below[0])
    if own is None:
        return None
    count = math.prod(own)
    if count > 1 and wide[-1] == wide[-2] == count and math.prod(wide) == count * count:
        return list(own), list(wide)
    return None


def _constant_factor(node: Node, name: str) -> float | None:
    """The constant that a Mul or Div applies, None where both operands carry gradient or it is not a number."""
    if name not in ("Mul", "Div") or len(children(node)) != 1:
        return None
    other = saved(node, "other")
    if other is None and name == "Mul":
        other = saved(node, "self")
    if isinstance(other, Tensor):
        if other.numel() != 1 or other.device.type != "cpu":
            return None
        other = float(other)
    if not isinstance(other, (int, float)) or other == 0 or not math.isfinite(other):
        return None
    return float(other) if name == "Mul" else 1.0 / float(other)


def _is_computed(divisor: Any) -> bool:
    """Whether a divisor is a tensor that was computed; a Python number is kept as a tensor too, but a weaker one.

    A Python number leaves the type of any tensor of its kind as it is: that is the only mark it bears.
    """
    if not isinstance(divisor, Tensor):
        return False
    weak = torch.tensor(1, dtype=torch.float16 if divisor.is_floating_point() else torch.int32)
    return divisor.dim() > 0 or divisor.dtype == weak.dtype or torch.result_type(divisor, weak) != weak.dtype


def _library_term(node: Node, kind: str, sign: int, factor: float, outer: str) -> Term:
    own = _REDUCTIONS.get(saved(node, "reduction"), "mean")
    reduction = outer if own == "none" or outer == _COUNTED else own
    below = children(node)
    prediction = below[0] if below else None
    term = Term(kind, node, sign, factor, reduction, prediction)
    target = saved_tensor(node, "target")
    term.target_shape = tuple(target.shape) if target is not None else None
    read = saved_tensor(node, "self")
    term.residual_shape = tuple(read.shape) if read is not None else None
    weight = saved(node, "weight") if kind != "mse" else None
    if weight is None and kind == "binary_cross_entropy_with_logits":
        weight = saved(node, "pos_weight")
    term.weighted = isinstance(weight, Tensor)
    if prediction is not None:
        term.chain, term.prediction = _output_chain(prediction)
        # For losses over residuals the shape before any stretching is the prediction's own.
        stretched = prediction
        while operation(stretched) == "Expand" and children(stretched):
            stretched = children(stretched)[0]
        term.prediction_shape = shape(stretched) or term.residual_shape
    return term


def _is_number(value: Any, wanted: float) -> bool:
    return isinstance(value, (int, float)) and value == wanted


def _handmade_term(node: Node, sign: int, factor: float, reduction: str) -> Term | None:
    """(prediction - target) squared or absolute, written by hand."""
    name = operation(node)
    kind = None
    inner: Node | None = None
    below = children(node)
    if (name == "Pow" and _is_number(saved(node, "exponent"), 2) and len(below) == 1) or (
        name == "Mul" and len(below) == 2 and below[0] is below[1]
    ):
        kind, inner = "handmade_square", below[0]
    elif name == "Abs" and len(below) == 1:
        kind, inner = "handmade_absolute", below[0]
    elif name in ("LinalgVectorNorm", "Norm") and len(below) == 1:
        kind, inner = "handmade_norm", below[0]
    if inner is None or kind is None or operation(inner) not in ("Sub", "Rsub"):
        return None
    operands = [(index, child) for index, (child, _) in enumerate(inner.next_functions) if child is not None]
    if len(operands) != 1:
        return None
    operand, prediction = operands[0]
    while operation(prediction) == "Expand" and len(children(prediction)) == 1:
        # Stretched beforehand, as broadcast_tensors does: the prediction is what was stretched.
        prediction = children(prediction)[0]
    term = Term(kind, node, sign, factor, reduction if reduction != "none" else "mean", operand=operand)
    term.residual_shape = shape(inner)
    term.prediction_shape = shape(prediction)
    term.chain, term.prediction = _output_chain(prediction)
    return term


def _is_normalized(node: Node) -> bool:
    below = children(node)
    if operation(node) != "Sub" or len(below) != 2:
        return False
    subtracted = autograd.skip_rearranging(below[1])
    return operation(subtracted) == "Logsumexp" and children(subtracted)[:1] == [below[0]]


def _output_chain(node: Node) -> tuple[tuple[str, ...], Node]:
    """The output activations from the loss down, and the first node that is none."""
    chain: list[str] = []
    for _ in range(30):
        name = operation(node)
        below = children(node)
        if _is_normalized(node):
            # x - logsumexp(x), as a distribution of torch makes log-probabilities of logits.
            chain.append("LogSoftmax")
            node = below[0]
            continue
        if name in _OUTPUT_OPERATIONS:
            chain.append(name)
        elif name not in autograd.REARRANGING and not (name in ("Add", "Sub", "Mul", "Div") and len(below) == 1):
            break
        if len(below) != 1:
            break
        node = below[0]
    return tuple(chain), node


def _softmax_width(term: Term) -> int | None:
    """Classes that an output softmax runs over; None where there is none, or its axis is not known."""
    node = next(iter(children(term.node)), None)
    for _ in range(30):
        if node is None:
            return None
        if operation(node) in ("Softmax", "SafeSoftmax", "LogSoftmax"):
            sizes, axis = shape(node), saved(node, "dim")
            if sizes is None or not isinstance(axis, int):
                return None
            # Negative axes are saved as unsigned numbers of 64 bits.
            axis = axis - 2**64 if axis >= 2**63 else axis
            return sizes[axis] if -len(sizes) <= axis < len(sizes) else None
        below = children(node)
        node = below[0] if len(below) == 1 else None
    return None


def describe(term: Term) -> dict[str, Any]:
    """The JSON-like content of the ``loss.structure`` fact for one term."""
    return {
        "kind": term.kind,
        "operation": operation(term.node),
        "sign": term.sign,
        "factor": term.factor,
        "reduction": term.reduction,
        "weighted": term.weighted,
        "prediction_shape": list(term.prediction_shape) if term.prediction_shape is not None else None,
        "target_shape": list(term.target_shape) if term.target_shape is not None else None,
        "residual_shape": list(term.residual_shape) if term.residual_shape is not None else None,
        "broadcasts": term.broadcasts,
        "chain": list(term.chain),
        "softmax_width": _softmax_width(term) if any("oftmax" in name for name in term.chain) else None,
        **term.extra,
    }
