"""Losses with the wrong sign, and losses below zero."""

from __future__ import annotations

import numpy as np

from neuraldbg.causes._findings._answer import absent, unmeasured, when
from neuraldbg.measures.loss_structure import BOUNDED_BELOW
from neuraldbg.measures.run import Run
from neuraldbg.measures.wiring import source_of
from neuraldbg.records import Finding


def loss_negated(run: Run) -> Finding:
    """A loss that is bounded below enters with a minus sign, alone."""
    if not run.curves:
        return unmeasured()
    curve = run.curves[0]
    main = [term for term in curve.terms if term["kind"] in BOUNDED_BELOW]
    if not curve.terms:
        return unmeasured()
    if len(run.curves) > 1 and run.adversarial:
        return absent()
    negative = [term for term in main if term["sign"] < 0]
    return when(
        bool(main) and len(negative) == len(main),
        f"{main[0]['operation'] if main else ''} enters the loss with a minus sign: training maximizes it",
        source=source_of(run, curve.place.name),
    )


def similarity_is_minimized(run: Run) -> Finding:
    """The loss is a cosine or an overlap itself, with a plus sign, and nothing else: what should agree is parted."""
    if not run.curves or not run.curves[0].terms:
        return unmeasured()
    if len(run.curves) > 1:
        return absent()
    curve = run.curves[0]
    kind, sign = curve.terms[0].get("similarity"), curve.terms[0].get("similarity_sign", -1)
    return when(
        kind is not None and sign > 0,
        f"the loss is the {kind} itself: training brings it down",
        source=source_of(run, curve.place.name),
    )


def loss_below_its_floor(run: Run) -> Finding:
    """A loss that cannot be negative is, and falls on."""
    curve = run.loss
    if curve is None or not curve.terms:
        return unmeasured()
    kinds = {term["kind"] for term in curve.terms}
    if not kinds <= set(BOUNDED_BELOW):
        return absent()
    beyond = np.nan_to_num(run.series("target.out_of_range").values, nan=0.0)
    if beyond.size and beyond.max() > 0:
        # Binary cross entropy is negative for targets above one: the targets are to blame.
        return absent()
    return when(
        curve.count > 3 and curve.end < -1e-6, f"the loss is {curve.end:.3g}, and cannot be negative by its kind"
    )


def loss_falls_without_bound(run: Run) -> Finding:
    """The loss goes ever faster below zero."""
    curve = run.loss
    if curve is None or curve.count < 30:
        return unmeasured()
    parts = [float(np.median(part)) for part in np.array_split(curve.finite, 4)]
    falls = [parts[i] - parts[i + 1] for i in range(3)]
    return when(
        parts[3] < -1
        and falls[2] > 0.8 * max(falls[1], 1e-12)
        and falls[1] > 0.5 * falls[0] > 0
        and parts[3] < -3 * abs(parts[0]),
        f"the loss falls without bound, to {parts[3]:.3g}",
    )
