"""What the model predicts late in the run."""

from __future__ import annotations

import numpy as np

from neuraldbg.causes._findings._answer import absent, unmeasured, when
from neuraldbg.measures.loss_curve import class_shares
from neuraldbg.measures.run import Run
from neuraldbg.records import Finding


def predictions_collapse_on_a_class(run: Run) -> Finding:
    """In the last third the model predicts one class for (nearly) everything, the rare ones for a fifth of their share."""
    curve = run.loss
    if curve is None:
        return unmeasured()
    _, top = run.series("prediction.top_share").column(curve.place.name)
    if top.size < 9:
        return unmeasured()
    late = float(np.mean(top[2 * top.size // 3 :]))
    _, asked = run.series("target.top_share").column(curve.place.name)
    rare = 1 - float(np.mean(asked)) if asked.size else 0.05
    return when(
        1 - late < max(0.015 if rare > 0.05 else 0.0, 0.2 * rare) and rare > 0,
        f"the model predicts one class for {100 * late:.0f} % of the samples",
        share=late,
    )


def accuracy_at_chance(run: Run) -> Finding:
    """In the last third the predictions hit no more often than always guessing the commonest class."""
    curve = run.loss
    if curve is None:
        return unmeasured()
    _, accuracy = run.series("prediction.accuracy").column(curve.place.name)
    if accuracy.size < 15 or any(term.get("weighted") for term in curve.terms):
        return unmeasured()
    if run.stopped_on_its_way() or run.adversarial:
        # Of two players none has to be right: a generator is when the other one errs.
        return absent()
    shares = class_shares(run.trace, curve.place.name)
    _, top = run.series("target.top_share").column(curve.place.name)
    chance = float(shares[0].max()) if shares is not None else float(np.median(top)) if top.size else 0.5
    late = float(np.mean(accuracy[2 * accuracy.size // 3 :]))
    return when(
        late < chance + 0.06,
        f"accuracy is {late:.2f}; always guessing the commonest class gives {chance:.2f}",
        accuracy=late,
    )


def predictions_do_not_vary(run: Run) -> Finding:
    """In the last third the prediction is the same for every sample of a batch."""
    curve = run.loss
    if curve is None:
        return unmeasured()
    if run.adversarial:
        return absent()
    _, spread = run.series("prediction.batch_spread").column(curve.place.name)
    if spread.size < 9:
        return unmeasured()
    late = float(np.median(spread[2 * spread.size // 3 :]))
    _, _own = run.series("prediction.std").column(curve.place.name)
    _, target = run.series("target.std").column(curve.place.name)
    reference = float(np.median(target)) if target.size and np.isfinite(np.median(target)) else 1.0
    if "binary" in curve.kind or curve.kind == "cross_entropy":
        reference = 1.0
    return when(
        late < 0.03 * max(reference, 1e-12),
        f"the prediction hardly differs between samples (spread {late:.2g})",
        spread=late,
    )
