"""Values and scale of the targets."""

from __future__ import annotations

import math

import numpy as np

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.causes._findings.loss_wiring.domain import carried_away
from neuraldbg.measures.inputs import learns_despite_scale, target_scale, targets_are_inputs
from neuraldbg.measures.run import Run
from neuraldbg.records import Finding

#: Size (root mean square) of regression targets below which they count as tiny; usual targets have a size of about 1.
_TINY = 0.03


def _ordinary_guess(run: Run) -> bool:
    """Whether the prediction at the first loss that is not finite was ordinary: as seen, or as nothing had moved it."""
    step, curve = run.bad_step, run.loss
    if step is None or curve is None:
        return False
    steps, largest = run.series("prediction.max").column(curve.place.name)
    at, before = largest[steps == step], np.abs(largest[steps < step])
    if not at.size:
        return step > 0 and not carried_away(run, step)
    return bool(np.isfinite(at).all() and before.size and abs(at[0]) < 10 * max(before.max(), 1e-12))


def target_non_finite(run: Run) -> Finding:
    """Targets are NaN or infinite while the prediction is finite."""
    facts = run.trace.facts("nonfinite.loss")
    producer = facts[0].data.get("producer") if facts else None
    if (
        producer
        and producer.get("kind") == "constant"
        and not producer.get("module")
        and not facts[0].data.get("bad_parameters")
    ):
        return present(f"what the prediction of step {facts[0].step} is compared with holds NaN", step=facts[0].step)
    if (
        producer
        and producer.get("operation") in ("Sub", "Rsub")
        and not producer.get("module")
        and _ordinary_guess(run)
    ):
        return present(
            f"the prediction of step {facts[0].step} is finite and its difference to the target is not",
            step=facts[0].step,
        )
    series = run.series("target.nonfinite")
    if not series:
        return absent() if facts else unmeasured()
    largest = run.series("prediction.max")
    for index, name in enumerate(series.names):
        for row in np.flatnonzero(np.nan_to_num(series.values[:, index], nan=0.0) > 0):
            step = int(series.steps[row])
            steps, predicted = largest.column(name)
            at = predicted[steps == step]
            # A hand-written residual of an infinite prediction gives no target.
            if at.size and not np.isfinite(at).all():
                break
            return present(f"targets of step {step} are NaN or infinite", step=step)
    return absent()


def no_target_counts(run: Run) -> Finding:
    """Cross entropy of finite logits is NaN: all targets of the batch are ignored, and the mean is taken over none."""
    facts, curve = run.trace.facts("nonfinite.loss"), run.loss
    if not facts or curve is None:
        return absent() if run.curves else unmeasured()
    data = facts[0].data
    alone = bool(curve.terms) and all(term["kind"] == "cross_entropy" for term in curve.terms)
    # The graph was looked through and nothing in it was at fault, and what was left undamaged goes on.
    looked = bool(data.get("inputs_seen")) and data.get("producer") is None and not data.get("bad_parameters")
    goes_on = bool(np.isfinite(curve.values[curve.steps > facts[0].step]).any())
    return when(
        alone and looked and goes_on and data.get("value") == "nan",
        f"no target of step {facts[0].step} counts: all are ignored, and the mean over none is NaN",
        step=facts[0].step,
    )


def target_out_of_range(run: Run) -> Finding:
    """Class ids or probabilities outside what the loss accepts."""
    series = run.series("target.out_of_range")
    for fact in run.trace.facts("run.exception"):
        message = str(fact.data.get("message", ""))
        if "out of bounds" in message and "Target" in message:
            return present(f"the loss refused a target: {message.splitlines()[0][:120]}", step=fact.step)
        if "between 0 and 1" in message:
            return present(f"the loss refused its values: {message.splitlines()[0][:120]}", step=fact.step)
    for fact in run.trace.facts("nonfinite.loss"):
        producer = fact.data.get("producer") or {}
        if "Ctc" in str(producer.get("operation")) and producer.get("inf") and not producer.get("nan"):
            # Graves et al. 2006: no path of a length below the target's (repeats count twice) spells the target.
            return present(
                f"the CTC loss is infinite at step {fact.step}: a target is longer than its input allows",
                step=fact.step,
            )
    if not series:
        return unmeasured()
    bad = np.nan_to_num(series.values, nan=0.0) > 0
    if not bad.any():
        return absent()
    row = int(np.flatnonzero(bad.any(axis=1))[0])
    if run.loss is not None and run.loss.kind == "binary_cross_entropy_with_logits":
        mild = (
            float(np.nanmax(run.series("target.max").values)) <= 1.0
            and float(np.nanmin(run.series("target.min").values)) >= 0.0
        )
        if mild:
            return absent()
    low = run.series("target.min").values
    high = run.series("target.max").values
    extent = f" (from {np.nanmin(low):.3g} to {np.nanmax(high):.3g})" if low.size and high.size else ""
    share = float(np.nanmax(series.values))
    return present(
        f"targets lie outside the range that the loss accepts{extent}", step=int(series.steps[row]), share=share
    )


def targets_out_of_scale(run: Run) -> Finding:
    """Regression targets tens of units from zero, or with a spread far above one.

    A target that is the model's own input has the input's scale: that is asked of the inputs.
    """
    if learns_despite_scale(run) or targets_are_inputs(run):
        return absent()
    scale = target_scale(run)
    if scale is None:
        return unmeasured() if run.loss is None else absent()
    mean, spread = abs(scale[0]), scale[1]
    size = math.hypot(mean, spread)
    return when(size > 10, f"targets lie around {mean:.3g} with a spread of {spread:.3g}", mean=mean, spread=spread)


def targets_tiny(run: Run) -> Finding:
    """Regression targets smaller than 0.03 together: the loss and its gradients are next to nothing from the start."""
    if learns_despite_scale(run):
        return absent()
    scale = target_scale(run)
    if scale is None:
        return unmeasured() if run.loss is None else absent()
    mean, spread = scale
    return when(
        0 < math.hypot(mean, spread) < _TINY, f"targets have a size of {math.hypot(mean, spread):.2g}", spread=spread
    )
