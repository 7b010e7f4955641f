"""Momentum as set, and as it shows in the updates."""

from __future__ import annotations

import math

import numpy as np

from neuraldbg.causes._findings._answer import absent, unmeasured, when
from neuraldbg.measures.run import Run
from neuraldbg.records import Finding


def momentum_extreme(run: Run) -> Finding:
    """Momentum (or beta1) at 0.98 or more."""
    if run.learned_to(0.2):
        return absent()
    momentum = run.setting("momentum")
    betas = run.setting("betas")
    value = float(momentum) if isinstance(momentum, (int, float)) and momentum else None
    if isinstance(betas, list) and betas:
        value = float(betas[0])
    if value is None:
        return absent() if run.optimizers else unmeasured()
    return when(
        value >= 0.98, f"momentum is {value:g}: a step carries {1 / max(1e-9, 1 - value):.0f} gradients", momentum=value
    )


def momentum_dominates_updates(run: Run) -> Finding:
    """An SGD update is more than 15 times learning rate × gradient."""
    if run.adaptive or not run.optimizers:
        return absent() if run.optimizers else unmeasured()
    steps_u, update = run.of_optimizer("update.norm")
    steps_g, gradient = run.of_optimizer("gradient.norm")
    if update.size < 10 or gradient.size < 10:
        return unmeasured()
    lookup = dict(zip(steps_g.tolist(), gradient.tolist()))
    rates = run.learning_rate_at(steps_u)
    ratios = [
        u / (r * lookup[s])
        for s, u, r in zip(steps_u.tolist(), update.tolist(), rates.tolist())
        if r > 0 and lookup.get(s, 0) > 0
    ]
    ratios = [value for value in ratios if math.isfinite(value)]
    if len(ratios) < 8:
        return unmeasured()
    middle = float(np.median(ratios[len(ratios) // 3 :]))
    return when(middle > 15, f"updates are {middle:.0f} times learning rate × gradient", ratio=middle)
