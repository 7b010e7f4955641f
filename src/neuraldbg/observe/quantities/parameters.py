"""Gradients, weights and updates, at the optimizer's step.

Quantities (place kind ``parameter``): ``parameter.gradient_norm`` (unscaled; 0 where there is none), ``weight_norm``,
``update_norm``, ``has_gradient``, ``requires_grad``, ``in_optimizer``, ``gradient_zero_share``, ``unchanged_share``
(share
of entries that an update did not change although their gradient is not zero), ``row_spread`` (relative spread between
the rows of a matrix; 0 when all rows are equal), ``column_spread`` (the same for columns), ``gradient_row_spread``,
``initial_scale`` (std × sqrt(fan-in)).
Place kind ``run``: ``gradient.norm``, ``gradient.cosine`` (with the gradient of the observed step before),
``update.dot_gradient`` (−predicted decrease of the loss), ``update.norm``, ``update.ratio`` (‖update‖ / ‖weights‖).
Norms of tensors above ``kernels.FULL`` elements are exact for gradients and sampled (scaled up) for weights and
updates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from neuraldbg.observe.pending import Pending

#: Elements sampled over all parameters together for elementwise comparisons.
_TOTAL_SAMPLE = 200_000


def dense(gradient: Tensor) -> Tensor:
    """A strided view of a gradient; sparse gradients give their values, complex ones their real pairs."""
    gradient = gradient.detach()
    if type(gradient) is Tensor and gradient.layout is torch.strided and not gradient.is_complex():
        return gradient  # asking a tensor for an attribute that it lacks is slow
    to_local = getattr(gradient, "to_local", None)
    if to_local is not None:
        gradient = to_local()
    if gradient.layout != torch.strided:
        gradient = gradient.coalesce().values() if gradient.layout == torch.sparse_coo else gradient.to_dense()
    return torch.view_as_real(gradient) if gradient.is_complex() else gradient


class ParameterSample:
    """A fixed strided sample over a list of parameters, as one flat float32 vector."""

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        # Of a sharded parameter the part that this process holds.
        counts = [dense(parameter).numel() for parameter in parameters]
        total = sum(counts)
        each = max(64, _TOTAL_SAMPLE // max(1, len(parameters)))
        self.strides: list[int] = []
        self.sizes: list[int] = []
        self.scales: list[float] = []
        for count in counts:
            stride = 1 if total <= _TOTAL_SAMPLE or count <= each else (count // each) | 1
            size = len(range(0, count, stride))
            self.strides.append(stride)
            self.sizes.append(size)
            self.scales.append(math.sqrt(count / size) if size else 1.0)
        self.length = sum(self.sizes)

    def take(self, tensors: Sequence[Tensor]) -> Tensor:
        """The sampled elements of tensors shaped as the parameters; shape (length,)."""
        pieces = []
        for tensor, stride in zip(tensors, self.strides):
            values = dense(tensor).reshape(-1)
            values = values[::stride] if stride > 1 else values
            pieces.append(values.float() if values.dtype != torch.float32 else values)
        return torch.cat(pieces) if pieces else torch.zeros(0, dtype=torch.float32)

    def norms(self, sample: Tensor) -> list[Tensor]:
        """Norm per parameter of a sample, scaled up to all elements; 0-dim tensors."""
        norms = torch._foreach_norm(list(sample.split(self.sizes)))
        return [norm * scale if scale != 1.0 else norm for norm, scale in zip(norms, self.scales)]


def row_spread(weight: Tensor) -> Tensor:
    """Root mean square deviation of the rows from their mean, over the root mean square of the entries; 0-dim.

    0 when every unit (row) has the same weights; about 1 for an ordinary initialization.
    """
    rows = weight.detach().reshape(weight.shape[0], -1)
    if rows.numel() > 65536:
        rows = rows[: max(2, 65536 // max(1, rows.shape[1]))]
    rows = rows.float()
    scale = rows.square().mean().sqrt()
    spread = (rows - rows.mean(0, keepdim=True)).square().mean().sqrt()
    return spread / scale.clamp_min(1e-30)


def measure_symmetry(pending: Pending, place: int, weight: Tensor) -> None:
    if hasattr(weight, "to_local"):
        return  # reshaping a sharded weight would start a collective
    if weight.dim() >= 2 and weight.shape[0] >= 2 and weight.layout == torch.strided and not weight.is_complex():
        pending.add("parameter.row_spread", place, row_spread(weight))
        pending.add(
            "parameter.column_spread", place, row_spread(weight.detach().reshape(weight.shape[0], -1).t()[:4096])
        )
        if weight.grad is not None and weight.grad.layout == torch.strided:
            pending.add("parameter.gradient_row_spread", place, row_spread(weight.grad))
