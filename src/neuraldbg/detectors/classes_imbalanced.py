"""One class holds nearly all of the targets, or of the predictions.

## What it detects
A class with at least 85 % of the targets of the run; and predictions of which, in the last third, more than 98.5 %
are of one class though the targets are not.

## Why it matters
Answering with that class alone is nearly right everywhere, and the gradient of the rare class is too faint to
change it.

## Evidence
Fact `target.histogram`, `target.mean` for two classes, `prediction.top_share`.

## When it is wrong
A rare class that is easy to tell is learned all the same; a loss with class weights accounts for the shares.

## References
He and Garcia 2009, Learning from imbalanced data; Lin et al. 2017 (focal loss).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuraldbg.detectors._event import saw
from neuraldbg.measures.loss_curve import class_shares
from neuraldbg.measures.run import Run
from neuraldbg.measures.subjects import TARGET
from neuraldbg.records import SemanticEvent

NEEDS = ("target.mean", "prediction.top_share")

#: Share of the targets; one class in two at 85 % has an entropy of 0.42 against ln 2 = 0.69.
SHARE = 0.85
#: Share of the predictions.
PREDICTED = 0.985


def detect(run: Run) -> Iterator[SemanticEvent]:
    curve = run.loss
    if curve is None:
        return
    name, last = curve.place.name, max(0, run.trace.last_step)
    shares = class_shares(run.trace, name)
    top, which = 0.0, ""
    if shares is not None and int((shares[0] > 0).sum()) > 1:
        top, which = float(shares[0].max()), f"class {int(shares[0].argmax())}"
    elif curve.kind.startswith("binary_cross_entropy"):
        _, mean = run.series("target.mean").column(name)
        if mean.size and np.isfinite(mean).all():
            positive = float(mean.mean())
            top, which = max(positive, 1 - positive), "1" if positive > 0.5 else "0"
    if SHARE <= top < 1:
        yield _event((0, last), f"{100 * top:.0f} % of the targets are {which}", "one_class_dominates", top, TARGET)
    steps, predicted = run.series("prediction.top_share").column(name)
    late = predicted[2 * predicted.size // 3 :]
    if predicted.size >= 9 and float(np.mean(late)) > PREDICTED and 0 < top < 0.98:
        sentence = f"the model predicts one class for {100 * float(np.mean(late)):.0f} % of the samples"
        yield _event(
            (int(steps[2 * predicted.size // 3]), int(steps[-1])),
            sentence,
            "predictions_collapse_on_a_class",
            float(np.mean(late)),
            "the predictions",
        )


def _event(steps: tuple[int, int], sentence: str, finding: str, share: float, subject: str) -> SemanticEvent:
    return saw(
        "data_anomaly",
        "imbalanced",
        steps,
        sentence,
        subject=subject,
        findings=(finding,),
        confidence=0.5 + 0.5 * max(0.0, (share - SHARE) / (1 - SHARE)),
        share=share,
    )
