"""Momentum as set, and as it shows in the updates."""

from __future__ import annotations

from neuraldbg.causes._findings._answer import absent, unmeasured, when
from neuraldbg.measures.optimizer import update_over_gradient
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
    if any(run.of_optimizer(quantity)[1].size < 10 for quantity in ("update.norm", "gradient.norm")):
        return unmeasured()
    ratio = update_over_gradient(run)
    if ratio is None:
        return unmeasured()
    return when(ratio > 15, f"updates are {ratio:.0f} times learning rate × gradient", ratio=ratio)
