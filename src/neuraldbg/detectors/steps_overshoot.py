"""The loss does not follow the fall that gradient and step promise.

## What it detects
Over the first dozen observed steps, and over the run, the first-order decrease (minus gradient times update) is large
and the loss falls by less than a tenth of it, or rises. Also successive gradients that point against each other.

## Why it matters
Within the range where a gradient is valid the loss falls about as promised. If it does not, the step is longer than the
curvature allows: the learning rate is too high for this model and data.

## Evidence
`update.dot_gradient`, `loss.value` of the step and the next one, `gradient.cosine`.

## When it is wrong
The next batch is another batch: with much noise between batches single steps say little, so that sums over many are
compared.

## References
Cohen et al. 2021, Gradient descent on neural networks typically occurs at the edge of stability.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import beyond, saw
from neuraldbg.measures.run import Run
from neuraldbg.measures.subjects import UPDATES
from neuraldbg.records import SemanticEvent

NEEDS = ("update.dot_gradient", "loss.value", "gradient.cosine")

#: Steps that count as the opening of a run.
OPENING = 12
#: Share of the promise that has to come true.
KEPT = 0.1
#: Cosine of successive gradients from which they oppose each other; independent batches give about 0.
OPPOSED = -0.2


def detect(run: Run) -> Iterator[SemanticEvent]:
    curve = run.loss
    steps, predicted, actual = run.predicted_and_actual
    if curve is not None and steps.size >= 4:
        early = steps < OPENING
        if early.sum() >= 3:
            promised, came = float(predicted[early].sum()), float(actual[early].sum())
            if promised > 0.3 * max(abs(curve.first), 1e-12) and came < KEPT * promised:
                yield _event(
                    (int(steps[early][0]), int(steps[early][-1])),
                    (
                        f"going by its gradients the loss falls by {promised:.3g} in the first "
                        f"{int(early.sum())} steps; it changes by {-came:+.3g}"
                    ),
                    ("first_steps_overshoot", "predicted_decrease_is_large"),
                    beyond(promised - came, promised),
                    promised=promised,
                    came=came,
                )
    opposed, cosine = run.of_optimizer("gradient.cosine")
    finite = np.isfinite(cosine)
    if finite.sum() >= 8 and float(np.median(cosine[finite])) < OPPOSED:
        typical = float(np.median(cosine[finite]))
        yield _event(
            (int(opposed[0]), int(opposed[-1])),
            f"successive gradients point against each other (cosine {typical:.2f})",
            ("gradients_oppose",),
            beyond(-typical, -OPPOSED),
            cosine=typical,
        )


def _event(
    steps: tuple[int, int], sentence: str, findings: tuple[str, ...], confidence: float, **numbers: float
) -> SemanticEvent:
    return saw(
        "optimizer_instability",
        "diverging",
        steps,
        sentence,
        subject=UPDATES,
        findings=findings,
        confidence=confidence,
        numbers=numbers,
    )
