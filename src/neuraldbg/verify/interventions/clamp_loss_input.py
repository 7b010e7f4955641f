"""Keep functions inside of their domain.

## What it changes
What goes into a logarithm, a square root, a division, a power, an exponential, an arc cosine and their like is clamped
to where value and slope are finite: 1e-7 for a logarithm, 1e-12 under a root and under a fraction line, 80 for an
exponential. Only where gradients are wanted.

## Which causes it removes
A logarithm of zero, the slope of a root at zero, a division by zero, an exponential that overflows.

## What it can't do
Operations inside of torch's compiled functions, and division by an integer count of zero rows.
"""

from __future__ import annotations

import torch
from torch import Tensor

from neuraldbg.verify._lever import Lever

CAUSES: tuple[str, ...] = ("loss_domain",)
DO = "clamp the input of the operation"
STRENGTHS: tuple[float, ...] = (1.0,)
ALSO_CURES = 0.08
CHANGES_LOSS = False
_TINY, _UNDER_ROOT, _LARGEST = 1e-7, 1e-12, 80.0
#: Operation → (lowest, highest) input.
DOMAINS = {
    "log": (_TINY, None),
    "log2": (_TINY, None),
    "log10": (_TINY, None),
    "log1p": (-1 + _TINY, None),
    "sqrt": (_UNDER_ROOT, None),
    "rsqrt": (_UNDER_ROOT, None),
    "exp": (None, _LARGEST),
    "expm1": (None, _LARGEST),
    "cosh": (-_LARGEST, _LARGEST),
    "sinh": (-_LARGEST, _LARGEST),
    "acos": (-1 + _TINY, 1 - _TINY),
    "arccos": (-1 + _TINY, 1 - _TINY),
    "asin": (-1 + _TINY, 1 - _TINY),
    "arcsin": (-1 + _TINY, 1 - _TINY),
    "atanh": (-1 + _TINY, 1 - _TINY),
    "logit": (_TINY, 1 - _TINY),
    "acosh": (1 + _TINY, None),
}


def install(lever: Lever) -> None:
    def watched(value):
        return torch.is_grad_enabled() and isinstance(value, Tensor) and value.is_floating_point() and value.numel() > 0

    def inside(name, tensor, low, high):
        if not watched(tensor):
            return tensor
        outside = torch.zeros_like(tensor, dtype=torch.bool)
        if low is not None:
            outside |= tensor.detach() < low
        if high is not None:
            if tensor.dtype == torch.float16 and high == _LARGEST:
                high = 10.0
            outside |= tensor.detach() > high
        if not bool(outside.any()):
            return tensor
        lever.did(f"the input of {name} clamped")
        return tensor.clamp(low, high)

    def make_for(name):
        low, high = DOMAINS[name]

        def make(original):
            def function(tensor, *arguments, **keywords):
                return original(inside(name, tensor, low, high), *arguments, **keywords)

            return function

        return make

    def nonzero(tensor):
        if not watched(tensor):
            return tensor
        small = tensor.detach().abs() < _UNDER_ROOT
        if not bool(small.any()):
            return tensor
        lever.did("a division by zero")
        return torch.where(small, torch.full_like(tensor, _TINY), tensor)

    def divide(original):
        def function(above, below, *arguments, **keywords):
            return original(above, nonzero(below), *arguments, **keywords)

        return function

    def divide_from_right(original):
        def function(below, *arguments, **keywords):
            return original(nonzero(below), *arguments, **keywords)

        return function

    def power(original):
        def function(base, exponent, *arguments, **keywords):
            if isinstance(exponent, (int, float)) and watched(base):
                if exponent != int(exponent):
                    base = inside("a power", base, _UNDER_ROOT, None)
                elif exponent < 0:
                    base = nonzero(base)
            return original(base, exponent, *arguments, **keywords)

        return function

    def spread(original):
        def function(tensor, *arguments, **keywords):
            result = original(tensor, *arguments, **keywords)
            if not watched(result) or not result.requires_grad or bool((result.detach() > 1e-6).all()):
                return result
            # The slope of the root inside of std at zero is infinite; the mean square plus a little has none.
            lever.did("a standard deviation of zero")
            variance = torch.var(tensor, *arguments, **keywords)
            return torch.sqrt(torch.nan_to_num(variance) + _UNDER_ROOT)

        return function

    for owner in (torch, Tensor):
        for name in DOMAINS:
            lever.replace(owner, name, make_for(name))
        for name in ("div", "true_divide", "divide"):
            lever.replace(owner, name, divide)
        lever.replace(owner, "reciprocal", divide_from_right)
        lever.replace(owner, "pow", power)
        lever.replace(owner, "std", spread)
    lever.replace(Tensor, "__truediv__", divide)
    lever.replace(Tensor, "__rtruediv__", divide_from_right)
    lever.replace(Tensor, "__pow__", power)
