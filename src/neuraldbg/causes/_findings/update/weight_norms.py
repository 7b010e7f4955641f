"""Weight decay, and how the norms of the weights change."""

from __future__ import annotations

import math

import numpy as np

from neuraldbg.causes._findings._answer import absent, unmeasured, when
from neuraldbg.measures.optimizer import decay_exponent, norm_growth
from neuraldbg.measures.run import Run
from neuraldbg.records import Finding


def weight_decay_dominates(run: Run) -> Finding:
    """The decay term outweighs the gradient, or the decay alone would shrink the weights to nothing in this run."""
    if run.learned_to(0.2):
        return absent()
    decay = run.setting("weight_decay")
    if not run.optimizers:
        return unmeasured()
    if not isinstance(decay, (int, float)) or decay <= 0:
        return absent()
    series_w, series_g = run.series("parameter.weight_norm"), run.series("parameter.gradient_norm")
    if not series_w or not series_g:
        return unmeasured()
    exponent = decay_exponent(run)
    if exponent is not None:
        return when(
            exponent > 2.0, f"decay alone shrinks the weights by exp(-{exponent:.1f}) over the run", exponent=exponent
        )
    # A matrix that was infinite for half of the run has no ratio here; measures.optimizer leaves its infinite rows out.
    weights = {n: np.nanmedian(series_w.values[:, i]) for i, n in enumerate(series_w.names)}
    gradients = {n: np.nanmedian(series_g.values[:, i]) for i, n in enumerate(series_g.names)}
    ratios = [
        float(decay * weights[n] / gradients[n])
        for n in weights
        if n in gradients and gradients[n] > 0 and n.endswith("weight")
    ]
    ratios = [ratio for ratio in ratios if math.isfinite(ratio)]
    if not ratios:
        return unmeasured()
    middle = float(np.median(ratios))
    return when(
        middle > 1.0 and decay >= 5e-3,
        f"the decay term is {middle:.2g} times the gradient",
        ratio=middle,
        decay=float(decay),
    )


def weights_shrink(run: Run) -> Finding:
    """The norms of most weight matrices fall below half of what they were."""
    ratio = norm_growth(run, 0.0)
    if ratio is None:
        return unmeasured()
    return when(ratio < 0.5, f"the weights shrink to {100 * ratio:.2g} % of their initial norm", ratio=ratio)


def weights_grow(run: Run) -> Finding:
    """The norms of most weight matrices more than triple."""
    ratio = norm_growth(run, 1e-6, rows=5)
    if ratio is None:
        return unmeasured()
    return when(ratio > 3, f"the weights grew {ratio:.2g}-fold", ratio=ratio)
