"""What enters the model.

Quantities (place kind ``input``): ``input.mean``, ``input.std``, ``input.absmax``, ``input.min``, ``input.max``,
``input.batch_spread`` (rms over features of the std across samples), ``input.feature_std_ratio`` (largest over smallest
non-zero feature std), ``input.feature_mean_ratio`` (largest feature |mean| / std), ``input.constant_features`` (share
of
features without variation across the batch), ``input.nonfinite`` (count), ``input.zero_share``, ``input.batch_size``,
``input.integer`` (1 for token ids), ``input.duplicate`` (1 when it equals the batch before).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from neuraldbg.observe import kernels
from neuraldbg.observe.pending import Pending


def features_last(value: Tensor) -> Tensor:
    """Shape (observations, features): dimension 1 counts features for (N, F) and (N, C, ...) images, else the last."""
    if value.dim() <= 1:
        return value.reshape(-1, 1)
    if value.dim() >= 4 and value.shape[1] <= 16:
        return kernels.unit_view(value, 1)
    return value.reshape(-1, value.shape[-1])


def measure_input_batch(pending: Pending, place: int, value: Tensor) -> None:
    """Numbers about one input tensor of any dtype."""
    pending.add("input.batch_size", place, float(value.shape[0]) if value.dim() else 1.0)
    if not value.is_floating_point():
        if value.dtype == torch.bool or value.is_complex() or value.numel() == 0:
            return
        pending.add("input.integer", place, 1.0)
        values = value.detach().reshape(-1)
        if values.numel() > kernels.FULL:
            values = values[: kernels.FULL]
        low, high = torch.aminmax(values)
        pending.add("input.min", place, low.float())
        pending.add("input.max", place, high.float())
        if value.dim() >= 2 and value.shape[0] > 1:
            block = kernels.rows(value)
            pending.add("input.batch_spread", place, kernels.spread_over_batch(block))
        return
    pending.add("input.integer", place, 0.0)
    values = kernels.flat(value)
    bad = ~torch.isfinite(value.detach())
    pending.add("input.nonfinite", place, bad.sum().float())
    low, high = torch.aminmax(values)
    deviation, mean = torch.std_mean(values, correction=0)
    pending.add("input.mean", place, mean)
    pending.add("input.std", place, deviation)
    pending.add("input.min", place, low)
    pending.add("input.max", place, high)
    pending.add("input.absmax", place, value.detach().abs().amax().float())
    pending.add("input.zero_share", place, kernels.share(values == 0))
    if value.dim() >= 2 and value.shape[0] > 1:
        block = kernels.rows(value, 65536)
        pending.add("input.batch_spread", place, kernels.spread_over_batch(block))
        across = block.reshape(block.shape[0], -1)
        pending.add("input.constant_features", place, kernels.share(across.amax(0) == across.amin(0)))
        table = features_last(block)
        if 1 < table.shape[1] <= 4096 and table.shape[0] > 1:
            spread, center = torch.std_mean(table, 0, correction=0)
            largest = spread.amax()
            floor = largest * 1e-12
            smallest = torch.where(spread > floor, spread, largest).amin()
            pending.add("input.feature_std_ratio", place, largest / smallest)
            pending.add("input.feature_std_max", place, largest)
            pending.add("input.feature_mean_max", place, center.abs().amax())


def locate_nonfinite(value: Tensor) -> dict[str, Any]:
    """Which rows and features of an input are not finite."""
    bad = ~torch.isfinite(value.detach())
    places = bad.nonzero()[:200].tolist()
    rows = sorted({place[0] for place in places}) if value.dim() else [0]
    features = sorted({place[-1] for place in places}) if value.dim() >= 2 else []
    return {
        "count": int(bad.sum()),
        "nan": int(torch.isnan(value.detach()).sum()),
        "rows": rows[:20],
        "features": features[:20],
        "shape": list(value.shape),
    }
