"""What three simple tools would say of the same trace: the earliest anomaly, the largest anomaly, threshold rules."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from neuraldbg.records import Trace

#: Quantities watched for anomalies, and what a rise and a fall are taken for.
WATCHED: dict[str, tuple[str, str]] = {
    "loss.value": ("learning_rate_too_high", "learning_rate_too_low"),
    "gradient.norm": ("exploding_depth", "vanishing_depth"),
    "update.ratio": ("learning_rate_too_high", "learning_rate_too_low"),
    "input.absmax": ("outlier_batch", "input_shift"),
    "input.std": ("input_shift", "constant_input"),
    "module.output_absmax": ("exploding_depth", "init_too_small"),
    "module.output_gradient_norm": ("exploding_depth", "vanishing_depth"),
    "module.output_dead_units": ("dying_relu", "dying_relu"),
    "module.output_zero_share": ("dying_relu", "dying_relu"),
    "parameter.gradient_norm": ("exploding_depth", "vanishing_depth"),
    "parameter.weight_norm": ("init_too_large", "excessive_weight_decay"),
    "target.top_share": ("class_imbalance", "unshuffled_data"),
}
#: Robust deviations beyond which a number is an anomaly.
DEVIATIONS = 6.0
#: Rows that a series needs before it can be judged against its own past.
PAST = 8


def _answer(cause: str, layer: str | None, step: int, confidence: float) -> dict[str, Any]:
    return {"cause": cause, "layer": layer, "step": int(step), "confidence": confidence}


def _anomalies(trace: Trace) -> list[tuple[int, float, str, str | None]]:
    """(step, size in robust deviations, cause, layer) of each series' first and largest anomaly."""
    found: list[tuple[int, float, str, str | None]] = []
    for quantity, (up, down) in WATCHED.items():
        series = trace.series(quantity)
        if not series:
            continue
        for place in series.places:
            steps, values = series.column(place.name)
            layer = place.name if place.kind in ("module", "parameter") else None
            broken = np.flatnonzero(np.isinf(values))
            if broken.size:
                found.append((int(steps[broken[0]]), math.inf, up, layer))
                values, steps = values[: broken[0]], steps[: broken[0]]
            if len(values) < PAST + 2:
                continue
            scale = np.log10(np.abs(values) + 1e-12)
            middle = np.median(scale[:PAST])
            spread = max(float(np.median(np.abs(scale[:PAST] - middle))) * 1.48, 0.05)
            deviation = (scale - middle) / spread
            beyond = np.flatnonzero(np.abs(deviation) > DEVIATIONS)
            for row in {int(beyond[0]), int(np.abs(deviation).argmax())} if beyond.size else ():
                cause = up if deviation[row] > 0 else down
                found.append((int(steps[row]), float(abs(deviation[row])), cause, layer))
    return found


def earliest_anomaly(trace: Trace) -> dict[str, Any] | None:
    """The first number that leaves its own past."""
    found = _anomalies(trace)
    if not found:
        return None
    step, _, cause, layer = min(found, key=lambda entry: (entry[0], -entry[1]))
    return _answer(cause, layer, step, 0.6)


def largest_anomaly(trace: Trace) -> dict[str, Any] | None:
    """The number that leaves its own past the furthest."""
    found = _anomalies(trace)
    if not found:
        return None
    step, _, cause, layer = max(found, key=lambda entry: (entry[1], -entry[0]))
    return _answer(cause, layer, step, 0.6)


def threshold_rules(trace: Trace) -> dict[str, Any] | None:
    """Fixed limits, the first that is crossed in the order below, as many published checkers have them."""

    def crossed(quantity: str, limit: float, above: bool, early: bool = False) -> tuple[int, str | None] | None:
        series = trace.series(quantity)
        if not series:
            return None
        rows = series.values[: 3 if early else None]
        hits = np.argwhere(rows > limit if above else rows < limit)
        if not len(hits):
            return None
        row, column = hits[0]
        place = series.places[int(column)]
        return int(series.steps[row]), place.name if place.kind in ("module", "parameter") else None

    rules: tuple[tuple[str, float, bool, bool, str], ...] = (
        ("input.nonfinite", 0.5, True, False, "nan_in_input"),
        ("target.out_of_range", 0.5, True, False, "invalid_target"),
        ("input.absmax", 30.0, True, True, "unnormalized_input"),
        ("target.top_share", 0.9, True, True, "class_imbalance"),
        ("module.output_absmax", 1e3, True, True, "init_too_large"),
        ("update.ratio", 0.3, True, False, "learning_rate_too_high"),
        ("parameter.gradient_norm", 1e3, True, False, "exploding_depth"),
        ("module.output_dead_units", 0.7, True, False, "dying_relu"),
        ("parameter.gradient_norm", 1e-8, False, False, "vanishing_depth"),
        ("update.ratio", 1e-5, False, True, "learning_rate_too_low"),
    )
    for quantity, limit, above, early, cause in rules:
        hit = crossed(quantity, limit, above, early)
        if hit is not None:
            return _answer(cause, hit[1], hit[0], 0.6)
    steps, loss = trace.scalar("loss.value")
    if loss.size and not np.isfinite(loss).all():
        return _answer("loss_domain", None, int(steps[np.flatnonzero(~np.isfinite(loss))[0]]), 0.6)
    if loss.size > 20 and np.median(loss[-len(loss) // 5 :]) > 0.9 * np.median(loss[: max(1, len(loss) // 10)]):
        return _answer("learning_rate_too_low", None, 0, 0.6)
    return None


BASELINES = {
    "earliest anomaly": earliest_anomaly,
    "largest anomaly": largest_anomaly,
    "threshold rules": threshold_rules,
}
