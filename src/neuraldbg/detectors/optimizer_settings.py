"""A setting of the optimizer is far from what it is meant to be.

## What it detects
Momentum (or beta1) of 0.98 and more; beta2 outside 0.9 to 0.9999 or below beta1; epsilon of 1e-4 and more, or one
that is zero in float16; a weight decay that alone shrinks the weights to a seventh over the run, or whose term
outweighs the gradient; updates many times as long as learning rate times gradient; maximize=True.

## Why it matters
Each of these changes the length of every step, and none of them shows in the model.

## Evidence
Fact `optimizer.settings`; `update.norm`, `gradient.norm`, `parameter.weight_norm`, `parameter.gradient_norm`.

## When it is wrong
Some of it is right in some place: momentum 0.99 with a small rate, epsilon 1e-3 in some recipes for RMSprop. The loss
decides whether it is a fault.

## References
Kingma and Ba 2015; Loshchilov and Hutter 2019; Reddi, Kale and Kumar 2018.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import beyond, saw
from neuraldbg.measures.optimizer import decay_exponent, decay_over_gradient, update_over_gradient
from neuraldbg.measures.run import Run
from neuraldbg.measures.subjects import OPTIMIZER
from neuraldbg.records import SemanticEvent

NEEDS = ("update.norm", "gradient.norm", "parameter.weight_norm", "parameter.gradient_norm")

#: A step carries 1 / (1 - momentum) gradients: 50 of them.
MOMENTUM = 0.98
#: Ten thousand times the default; gradients of a trained model have entries of that size.
EPSILON = 1e-4
#: Smallest positive number of float16 is 6e-8; half of it is rounded to zero.
HALF_EPSILON = 3e-8
#: exp(-2): decay alone leaves a seventh of the weights.
DECAY_EXPONENT = 2.0


def detect(run: Run) -> Iterator[SemanticEvent]:
    if not run.optimizers:
        return
    momentum, betas, epsilon = run.setting("momentum"), run.setting("betas"), run.setting("eps")
    carried = betas[0] if isinstance(betas, list) and betas else momentum
    if isinstance(carried, (int, float)) and not isinstance(carried, bool) and MOMENTUM <= carried < 1.0:
        yield _event(
            run,
            f"momentum is {carried:g}: a step carries {1 / (1 - carried):.0f} gradients",
            ("momentum_extreme",),
            momentum=float(carried),
        )
    ratio = update_over_gradient(run)
    if ratio is not None and ratio > 15:
        yield _event(
            run, f"updates are {ratio:.0f} times learning rate × gradient", ("momentum_dominates_updates",), ratio=ratio
        )
    if isinstance(betas, list) and len(betas) > 1 and not (0.9 <= betas[1] <= 0.9999 and betas[1] >= betas[0]):
        yield _event(
            run,
            f"beta2 is {betas[1]:g} (usual: 0.95 to 0.999)",
            ("adam_beta2_unusual", "adam_step_oversized"),
            beta2=betas[1],
        )
    if isinstance(epsilon, (int, float)) and epsilon >= EPSILON:
        yield _event(
            run,
            f"epsilon is {epsilon:g} (default 1e-8)",
            ("adam_epsilon_unusual", "adam_epsilon_swamps"),
            epsilon=epsilon,
        )
    half = any(p.kind == "parameter" and p.details.get("dtype") == "float16" for p in run.trace.places)
    if isinstance(epsilon, (int, float)) and half and epsilon < HALF_EPSILON and "Adam" in run.optimizer_class:
        yield _event(
            run,
            f"epsilon {epsilon:g} is zero in float16: the step divides by zero",
            ("adam_epsilon_vanishes_in_half",),
            epsilon=epsilon,
        )
    yield from _decay(run)
    if run.setting("maximize"):
        yield _event(run, "the optimizer was built with maximize=True", ("optimizer_maximizes",))


def _decay(run: Run) -> Iterator[SemanticEvent]:
    decay, exponent, ratio = run.setting("weight_decay"), decay_exponent(run), decay_over_gradient(run)
    if exponent is not None and exponent > DECAY_EXPONENT:
        sentence = f"decay alone shrinks the weights to {100 * np.exp(-exponent):.2g} % over the run"
        yield _event(run, sentence, ("weight_decay_dominates",), exponent=exponent, decay=decay)
    elif ratio is not None and ratio > 1.0 and decay >= 5e-3:
        sentence = f"the decay term is {ratio:.2g} times the gradient"
        yield _event(run, sentence, ("weight_decay_dominates",), beyond(ratio, 1.0), ratio=ratio, decay=decay)


def _event(
    run: Run, sentence: str, findings: tuple[str, ...], confidence: float = 0.7, **numbers: float
) -> SemanticEvent:
    return saw(
        "wiring_fault",
        "faulty",
        (0, max(0, run.trace.last_step)),
        sentence,
        subject=OPTIMIZER,
        findings=findings,
        confidence=confidence,
        numbers={name: float(number) for name, number in numbers.items()},
    )
