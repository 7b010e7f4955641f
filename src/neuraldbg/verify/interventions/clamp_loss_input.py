"""Keep functions inside of their domain.

## What it changes
What goes into a logarithm, a square root, a division, a power, an exponential, an arc cosine and their like is clamped
to where value and slope are finite: 1e-7 for a logarithm, 1e-12 under a root and under a fraction line, 10 for an
exponential (that of 33 is 2e14, far below overflow and ruin all the same). The slope of an exponential is that at the
limit, so that what is too large can come back. A softmax over nothing but masked scores, which divides zero by zero,
gives equal parts. Only where gradients are wanted.

## Which causes it removes
A logarithm of zero, the slope of a root at zero, a division by zero, an exponential that overflows.

## What it can't do
Operations inside of torch's compiled functions, and division by an integer count of zero rows.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from neuraldbg.verify._lever import Lever

CAUSES: tuple[str, ...] = ("loss_domain",)
DO = "clamp the input of the operation"
STRENGTHS: tuple[float, ...] = (1.0,)
ALSO_CURES = 0.08
CHANGES_LOSS = False
_TINY, _UNDER_ROOT, _LARGEST = 1e-7, 1e-12, 10.0
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
            outside |= tensor.detach() > high
        if not bool(outside.any()):
            return tensor
        lever.did(f"the input of {name} clamped")
        if high == _LARGEST:
            return tensor + (tensor.detach().clamp(low, high) - tensor.detach())
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

    def unmasked(scores, dim):
        if not watched(scores) or scores.dim() == 0:
            return scores
        empty = (scores.detach() == -math.inf).all(dim=dim, keepdim=True)
        if not bool(empty.any()):
            return scores
        lever.did("a softmax over nothing but masked scores")
        return torch.where(empty, torch.zeros_like(scores), scores)

    def softmax(original):
        def function(tensor, *arguments, **keywords):
            dim = arguments[0] if arguments else keywords.get("dim")
            return original(unmasked(tensor, -1 if dim is None else dim), *arguments, **keywords)

        return function

    def attention(original):
        def function(query, key, value, attn_mask=None, *arguments, **keywords):
            if isinstance(attn_mask, Tensor) and torch.is_grad_enabled():
                masked = ~attn_mask if attn_mask.dtype == torch.bool else attn_mask == -math.inf
                empty = masked.all(dim=-1, keepdim=True)
                if bool(empty.any()):
                    lever.did("a softmax over nothing but masked scores")
                    attn_mask = attn_mask | empty if attn_mask.dtype == torch.bool else attn_mask.masked_fill(empty, 0)
            return original(query, key, value, attn_mask, *arguments, **keywords)

        return function

    lever.replace(torch.nn.functional, "scaled_dot_product_attention", attention)
    for owner in (torch.nn.functional, torch, Tensor):
        lever.replace(owner, "softmax", softmax)
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
