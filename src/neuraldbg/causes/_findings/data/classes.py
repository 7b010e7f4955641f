"""Shares of the classes among the targets, and what becomes of the rare ones."""

from __future__ import annotations

import numpy as np

from neuraldbg.causes._findings._answer import absent, unmeasured, when
from neuraldbg.causes._findings.data.predictions import predictions_collapse_on_a_class
from neuraldbg.measures.loss_curve import class_shares
from neuraldbg.measures.run import Run
from neuraldbg.records import Finding


def one_class_dominates(run: Run) -> Finding:
    """One class holds at least 85 % of the targets."""
    curve = run.loss
    if curve is None:
        return unmeasured()
    if run.adversarial:
        # Real against generated, all of one kind per call: no imbalance of data.
        return absent()
    shares = class_shares(run.trace, curve.place.name)
    if shares is not None:
        top, few = float(shares[0].max()), int((shares[0] > 0).sum())
        return when(
            top >= 0.85 and few > 1, f"{100 * top:.0f} % of the targets are class {int(shares[0].argmax())}", share=top
        )
    if curve.kind.startswith("binary_cross_entropy"):
        _, mean = run.series("target.mean").column(curve.place.name)
        if mean.size:
            top = max(float(np.mean(mean)), 1 - float(np.mean(mean)))
            return when(
                0.85 <= top < 1,
                f"{100 * top:.0f} % of the targets are {'1' if np.mean(mean) > 0.5 else '0'}",
                share=top,
            )
    return absent()


def rare_classes_are_missed(run: Run) -> Finding:
    """One class holds at least 85 % of the targets, and in the last third at most half of the others are recognized."""
    curve = run.loss
    dominant = one_class_dominates(run)
    if curve is None or dominant.present is None:
        return unmeasured()
    if not dominant.present:
        return absent()
    if curve.constant is not None and curve.constant > 1e-9 and curve.late_mean < 0.3 * curve.constant:
        # Far below what the shares of the classes give: told apart, whatever a threshold of one half makes of it.
        return absent()
    steps, recall = run.series("prediction.rare_recall").column(curve.place.name)
    shares = dict(zip(*(column.tolist() for column in run.series("target.top_share").column(curve.place.name))))
    # A batch without a rare sample says nothing.
    recall = recall[np.array([shares.get(step, 0.0) < 1.0 for step in steps.tolist()], bool) & (recall >= 0)]
    if recall.size >= 9:
        late = float(np.mean(recall[2 * recall.size // 3 :]))
        return when(
            late < 0.5, f"of the samples outside the commonest class {100 * late:.0f} % are recognized", recall=late
        )
    collapsed = predictions_collapse_on_a_class(run)
    return when(bool(collapsed.present), collapsed.sentence)


def loss_is_reweighted(run: Run) -> Finding:
    """The loss weights classes."""
    curve = run.loss
    if curve is None or not curve.terms:
        return unmeasured()
    return when(any(term.get("weighted") for term in curve.terms), "the loss weights classes")
