"""Adam's settings, and the size of its steps against its learning rate."""

from __future__ import annotations

import math

import numpy as np

from neuraldbg.causes._findings._answer import absent, unmeasured, when
from neuraldbg.measures.run import Run
from neuraldbg.measures.stretches import finite
from neuraldbg.records import Finding


def _adam_step_size(run: Run) -> tuple[np.ndarray, np.ndarray] | None:
    """Root mean square of an update's entries over the learning rate: about 1 for Adam on fresh gradients."""
    if "Adam" not in run.optimizer_class:
        return None
    steps, update = run.of_optimizer("update.norm")
    _, elements = run.of_optimizer("update.elements")
    if update.size < 5 or elements.size != update.size:
        return None
    rates = run.learning_rate_at(steps)
    with np.errstate(divide="ignore", invalid="ignore"):
        return steps, update / np.sqrt(np.maximum(elements, 1)) / rates


def adam_epsilon_swamps(run: Run) -> Finding:
    """Adam's updates are far below its learning rate because epsilon is far above the gradients."""
    epsilon = run.setting("eps")
    found = _adam_step_size(run)
    if found is None or not isinstance(epsilon, (int, float)):
        return absent() if run.optimizers else unmeasured()
    _, size = found
    _, gradient = run.of_optimizer("gradient.norm")
    _, elements = run.of_optimizer("update.elements")
    if not gradient.size or not elements.size:
        return unmeasured()
    typical = float(np.median(gradient)) / math.sqrt(max(1.0, float(elements[0])))
    middle = float(np.median(finite(size)[: max(5, size.size // 2)])) if finite(size).size else math.nan
    return when(
        epsilon > 3 * typical > 0 and middle < 0.2 and epsilon > 1e-7,
        f"epsilon {epsilon:g} is {epsilon / max(typical, 1e-30):.2g} times a typical gradient entry; steps are {middle:.2g} of the learning rate",
        epsilon=float(epsilon),
        gradient=typical,
    )


def adam_step_oversized(run: Run) -> Finding:
    """One Adam step moved entries by several times the learning rate: the second moment had gone stale."""
    found = _adam_step_size(run)
    if found is None:
        return absent() if run.optimizers else unmeasured()
    steps, size = found
    betas = run.setting("betas")
    beta2 = float(betas[1]) if isinstance(betas, list) and len(betas) > 1 else 0.999
    later = steps >= 10
    if not later.any():
        return unmeasured()
    values = np.where(np.isfinite(size[later]), size[later], 0)
    worst = int(steps[later][np.argmax(values)])
    return when(
        float(values.max()) > 6,
        f"at step {worst} Adam moved entries by {values.max():.1f} times the learning rate (beta2 {beta2:g})",
        step=worst,
        size=float(values.max()),
        beta2=beta2,
    )


def adam_beta2_unusual(run: Run) -> Finding:
    """beta2 outside 0.9 to 0.9999, or below beta1."""
    if run.learned_to(0.2):
        return absent()
    betas = run.setting("betas")
    if not isinstance(betas, list) or len(betas) < 2:
        return absent() if run.optimizers else unmeasured()
    return when(
        betas[1] < 0.9 or betas[1] > 0.9999 or betas[1] < betas[0] - 1e-9,
        f"beta2 is {betas[1]:g} (usual: 0.95 to 0.999)",
        beta2=betas[1],
    )


def adam_epsilon_unusual(run: Run) -> Finding:
    """Epsilon of 1e-4 or more for an adaptive optimizer."""
    if run.learned_to(0.2):
        return absent()
    epsilon = run.setting("eps")
    if not isinstance(epsilon, (int, float)):
        return absent() if run.optimizers else unmeasured()
    half = any(p.kind == "parameter" and p.details.get("dtype") == "float16" for p in run.trace.places)
    return when(epsilon >= 1e-4 and not half, f"epsilon is {epsilon:g} (default 1e-8)", epsilon=float(epsilon))


def adam_epsilon_vanishes_in_half(run: Run) -> Finding:
    """Adam's epsilon is zero in float16 (its smallest positive number is 6e-8), and the parameters are float16."""
    epsilon = run.setting("eps")
    if not isinstance(epsilon, (int, float)) or "Adam" not in run.optimizer_class:
        return absent() if run.optimizers else unmeasured()
    half = [p for p in run.trace.places if p.kind == "parameter" and p.details.get("dtype") == "float16"]
    return when(
        bool(half) and epsilon < 3e-8,
        f"epsilon {epsilon:g} is zero in float16, and so is the square of most gradients: the step divides by zero",
        epsilon=float(epsilon),
    )
