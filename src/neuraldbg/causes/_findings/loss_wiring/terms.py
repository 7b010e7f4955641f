"""Shapes and factors of the loss."""

from __future__ import annotations

import math

import numpy as np

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.measures.loss_structure import stretched
from neuraldbg.measures.run import Run
from neuraldbg.measures.wiring import source_of, terms_of
from neuraldbg.records import Finding


def shapes_broadcast_in_loss(run: Run) -> Finding:
    """Prediction and target are stretched against each other."""
    terms = terms_of(run)
    if not terms:
        return unmeasured()
    for stream, term in terms:
        if term.get("stretched"):
            own, wide = term["stretched"]
            return present(
                f"a prediction of shape {tuple(own)} becomes a table of shape {tuple(wide)} in the loss: shapes broadcast",
                source=source_of(run, stream),
            )
        shapes = stretched(term)
        if shapes is not None:
            return present(
                f"the prediction has shape {shapes[0]} and the difference to the target {shapes[1]}: they broadcast",
                source=source_of(run, stream),
                step=0,
            )
    return absent()


def loss_is_summed(run: Run) -> Finding:
    """The main term is summed over at least eight elements, or multiplied by a factor of ten and more."""
    curve = run.loss
    if curve is None or not curve.terms:
        return unmeasured()
    for term in curve.terms:
        stream = curve.place.name
        _, elements = run.series("loss.elements").column(stream)
        count = float(np.median(elements)) if elements.size else math.prod(term.get("residual_shape") or [1])
        factor = float(term.get("factor", 1.0))
        size = factor * count if term["reduction"] == "sum" else factor
        if size >= 8 and term["kind"] != "other":
            how = f"summed over {count:.0f} elements" if term["reduction"] == "sum" else f"multiplied by {factor:g}"
            return present(
                f"the loss is {how}, which makes every gradient {size:.3g} times as large",
                source=source_of(run, stream),
                size=size,
            )
    return absent()


def accumulation_undivided(run: Run) -> Finding:
    """Several backwards feed each step, and none of the losses is divided by their number."""
    curve = run.loss
    if curve is None or run.optimizer_steps == 0 or len(run.optimizers) > 1:
        return unmeasured() if curve is None else absent()
    per_step = run.backwards / max(1, run.optimizer_steps)
    if per_step < 3.5 or len(run.curves) > 1:
        return absent()
    factor = max((float(term.get("factor", 1.0)) for term in curve.terms), default=1.0)
    return when(
        factor > 0.6 and not _gradients_are_left(run),
        f"{per_step:.0f} backward passes feed each step and the losses are not divided by {per_step:.0f}",
        source=source_of(run, curve.place.name),
        per_step=per_step,
    )


def _gradients_are_left(run: Run) -> bool:
    _, left = run.of_optimizer("gradient.left_norm")
    return bool(left.size > 3 and np.mean(left > 0) > 0.8)
