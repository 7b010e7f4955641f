"""What an optimizer's settings amount to in a run, and how far its steps move the weights."""

from __future__ import annotations

import numpy as np

from neuraldbg.measures.run import Run
from neuraldbg.measures.stretches import finite


def update_over_gradient(run: Run) -> float | None:
    """Update norm over learning rate × gradient norm, median over the last two thirds; None for adaptive optimizers."""
    if run.adaptive or not run.optimizers:
        return None
    steps, update = run.of_optimizer("update.norm")
    gradients = dict(zip(*(part.tolist() for part in run.of_optimizer("gradient.norm"))))
    rates = run.learning_rate_at(steps)
    ratios = [
        moved / (rate * gradients[step])
        for step, moved, rate in zip(steps.tolist(), update.tolist(), rates.tolist())
        if rate > 0 and gradients.get(step, 0) > 0 and np.isfinite(moved) and np.isfinite(gradients[step])
    ]
    return float(np.median(ratios[len(ratios) // 3 :])) if len(ratios) >= 8 else None


def _decay(run: Run) -> float:
    decay = run.setting("weight_decay")
    return float(decay) if isinstance(decay, (int, float)) else 0.0


def decoupled(run: Run) -> bool:
    """Whether the decay is applied to the weights themselves and not to the gradient."""
    return "AdamW" in run.optimizer_class or bool(run.setting("decoupled_weight_decay"))


def decay_exponent(run: Run) -> float | None:
    """Sum of learning rate × decay over the run: decay alone leaves exp(-this) of the weights.

    None when it is not decoupled, or there is none.
    """
    if _decay(run) <= 0 or not decoupled(run):
        return None
    steps = run.loss.count if run.loss is not None else 0
    return _decay(run) * float(np.nansum(run.learning_rate_at(np.arange(max(1, steps)))))


def decay_over_gradient(run: Run) -> float | None:
    """decay × ‖w‖ / ‖g‖, median over the weight matrices; None when the decay is decoupled or there is none."""
    weights, gradients = run.series("parameter.weight_norm"), run.series("parameter.gradient_norm")
    if _decay(run) <= 0 or decoupled(run) or not weights or not gradients:
        return None
    ratios = []
    for index, name in enumerate(weights.names):
        _, own = gradients.column(name)
        own, sizes = own[np.isfinite(own)], weights.values[:, index]
        sizes = sizes[np.isfinite(sizes)]
        if name.endswith("weight") and own.size and sizes.size and np.median(own) > 0:
            ratios.append(_decay(run) * float(np.median(sizes)) / float(np.median(own)))
    return float(np.median(ratios)) if ratios else None


def typical_update(run: Run, opening: bool = False) -> float | None:
    """Median of ‖update‖ / ‖w‖ over the run, or over its first quarter; None with fewer than five observed steps."""
    ratio = finite(run.of_optimizer("update.ratio")[1])
    if ratio.size < 5:
        return None
    return float(np.median(ratio[: max(5, ratio.size // 4)] if opening else ratio))


def matrix_updates(run: Run, before: int) -> tuple[int, float] | None:
    """Step and size of the largest ‖update‖ / ‖w‖ of the typical weight matrix before a step; None without matrices.

    The norm of all weights together is often that of an embedding; what a step does to the layers does not show in it.
    """
    moved, norms = run.series("parameter.update_norm"), run.series("parameter.weight_norm")
    columns = {name: index for index, name in enumerate(norms.names)}
    pairs = [
        (index, columns[place.name])
        for index, place in enumerate(moved.places)
        if len(place.details.get("shape", ())) >= 2 and place.name in columns
    ]
    rows = {int(step): row for row, step in enumerate(norms.steps) if step < before}
    typical: list[tuple[float, int]] = []
    for row, step in enumerate(moved.steps):
        if not pairs or step >= before or int(step) not in rows:
            continue
        mine, theirs = (np.array(side) for side in zip(*pairs))
        update, size = moved.values[row, mine], norms.values[rows[int(step)], theirs]
        kept = (size > 1e-9) & np.isfinite(size) & ~np.isnan(update)
        if kept.any():
            typical.append((float(np.median(update[kept] / size[kept])), int(step)))
    value, step = max(typical, key=lambda item: item[0], default=(np.nan, 0))
    return (step, value) if typical else None


def norm_growth(run: Run, floor: float, rows: int = 10) -> float | None:
    """Last over first norm, median over the weight matrices; None where too little was observed.

    Args:
        floor: matrices whose first norm is not above it do not count.
        rows: observed rows that it takes.
    """
    series = run.series("parameter.weight_norm")
    ratios = []
    for index, place in enumerate(series.places):
        norms = finite(series.values[:, index])
        if len(place.details.get("shape", ())) >= 2 and norms.size >= 5 and norms[0] > floor:
            ratios.append(norms[-1] / norms[0])
    return float(np.median(ratios)) if ratios else None
