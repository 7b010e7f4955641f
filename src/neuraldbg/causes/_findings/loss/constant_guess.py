"""The loss against that of a constant or uniform guess."""

from __future__ import annotations

import math

from neuraldbg.causes._findings._answer import absent, unmeasured, when
from neuraldbg.measures.loss_curve import FEW_ROWS
from neuraldbg.measures.run import Run
from neuraldbg.records import Finding


def loss_at_constant_predictor(run: Run) -> Finding:
    """The loss ends where a constant prediction would."""
    curve = run.loss
    if curve is None or curve.count < FEW_ROWS or curve.constant is None or run.adversarial:
        return unmeasured()
    constant = curve.constant
    if constant <= 1e-9 or run.stopped_on_its_way():
        return absent()
    ratio = curve.late_mean / constant
    return when(
        0.9 < ratio < 1.15,
        f"after {curve.count} steps the loss is {curve.late_mean:.3g}, what a constant guess gives ({constant:.3g})",
        end=curve.late_mean,
        constant=constant,
    )


def loss_above_constant_predictor(run: Run) -> Finding:
    """The loss ends clearly above what a constant prediction would reach."""
    curve = run.loss
    if curve is None or curve.count < FEW_ROWS or curve.constant is None or run.adversarial:
        return unmeasured()
    if curve.constant <= 1e-9:
        return absent()
    ratio = curve.end / curve.constant
    return when(
        ratio >= 1.15,
        f"the loss ends at {curve.end:.3g}, above the {curve.constant:.3g} of a constant guess",
        end=curve.end,
        constant=curve.constant,
    )


def loss_beats_constant_clearly(run: Run) -> Finding:
    """The loss ends below half of what a constant prediction reaches."""
    curve = run.loss
    if curve is None or curve.count < FEW_ROWS or curve.constant is None:
        return unmeasured()
    if curve.constant <= 1e-9 or run.bad_step is not None:
        return absent()
    return when(
        curve.late_mean < 0.5 * curve.constant,
        f"the loss reached {curve.late_mean:.3g}, against {curve.constant:.3g} of a constant guess",
        end=curve.late_mean,
        constant=curve.constant,
    )


def first_loss_huge(run: Run) -> Finding:
    """The first loss is far above a uniform or a constant guess."""
    curve = run.loss
    if curve is None or not curve.count or not curve.terms or len(curve.terms) > 1:
        return unmeasured()
    term = curve.terms[0]
    first = float(curve.finite[0])
    per_element = first / float(term.get("factor") or 1.0)
    if term.get("reduction") == "sum":
        _, elements = run.trace.scalar("loss.elements", curve.place.name)
        per_element /= float(elements[0]) if elements.size else 1.0
    if term["kind"] == "cross_entropy" and term.get("class_count"):
        reference = math.log(max(2, int(term["class_count"])))
    elif term["kind"].startswith("binary_cross_entropy"):
        reference = math.log(2)
    else:
        return unmeasured()
    return when(
        per_element > 2.5 * reference,
        f"the first loss is {per_element:.3g}; a uniform guess gives {reference:.3g}",
        first=per_element,
        uniform=reference,
    )
