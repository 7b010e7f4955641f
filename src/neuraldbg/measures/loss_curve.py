"""The loss over time: its levels, its noise, and what a constant predictor would reach."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from neuraldbg.records import Place, Trace

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

#: Rows below which a curve has no shape yet.
FEW_ROWS = 20
#: Rows from which on the running median of a curve is not computed at every row.
_LONG = 4000
#: A first loss above this many times what a constant guess reaches is no measure of what there is to learn.
_HUGE_START = 10.0


@dataclass(frozen=True)
class LossCurve:
    """One stream of losses."""

    place: Place
    #: Step of each value; shape (rows,).
    steps: IntArray
    #: +inf where the loss was not finite; shape (rows,).
    values: FloatArray
    #: What the best constant predictor reaches over the run, or None where it is not known.
    constant: float | None
    #: What kind of loss its main term is ("" when unknown).
    kind: str
    #: The terms of its structure, as recorded.
    terms: tuple[Mapping[str, Any], ...]
    #: Of a loss of several terms, what a constant guess reaches in those where it is known; None without any.
    known_part: float | None = None

    @property
    def finite(self) -> FloatArray:
        return self.values[np.isfinite(self.values)]

    @property
    def first_bad_step(self) -> int | None:
        """Step of the first non-finite loss."""
        bad = np.flatnonzero(~np.isfinite(self.values))
        return int(self.steps[bad[0]]) if bad.size else None

    @property
    def count(self) -> int:
        return int(self.finite.size)

    @property
    def window(self) -> int:
        """Rows in a tenth of the run, at least 3."""
        return max(3, self.count // 10)

    @property
    def first(self) -> float:
        """Mean of the first three values: the loss at initialization, before most learning."""
        return float(np.mean(self.finite[:3])) if self.count else math.nan

    @property
    def to_beat(self) -> float:
        """The lower of ``first`` and ``constant``: what a run that learns has to leave behind.

        A first loss that is huge by itself does not make what follows look learned. The terms of which a constant
        guess is not known (the divergence of a variational autoencoder, a penalty) can be next to nothing, so the known
        ones stand for the whole where the start is far above them.
        """
        if self.constant and self.constant > 1e-9:
            return min(self.first, self.constant)
        if self.known_part and self.first > _HUGE_START * self.known_part:
            return self.known_part
        return self.first

    @property
    def start(self) -> float:
        """Median over the first tenth."""
        return float(np.median(self.finite[: self.window])) if self.count else math.nan

    @property
    def end(self) -> float:
        """Median over the last tenth."""
        return float(np.median(self.finite[-self.window :])) if self.count else math.nan

    def ordinary_before(self, step: int) -> bool:
        """Whether most losses before a step lay below twice the very first one: a run that was well until then."""
        before = self.values[self.steps < step]
        return before.size >= 3 and float(np.mean(before < 2 * abs(before[0]))) > 0.6

    @property
    def late_mean(self) -> float:
        """Mean over the last fifth, its highest fiftieth cut to the rest.

        What a constant guess reaches is an expectation, and where a class is rare most batches hold none of it: their
        median says nothing of the ones that do.
        """
        if not self.count:
            return math.nan
        late = self.finite[-max(3, self.count // 5) :]
        return float(np.minimum(late, np.percentile(late, 98)).mean())

    @property
    def noise(self) -> float:
        """Typical difference between successive values, over sqrt(2): the spread at a fixed level."""
        if self.count < 4:
            return 0.0
        differences = np.abs(np.diff(self.finite))
        return float(np.median(differences)) / 0.954

    def smooth(self) -> FloatArray:
        """Running median over about a twentieth of the run; shape (finite rows,).

        In a long run it is taken at some places over some of the values, with straight lines between: exact medians
        would take time with the square of the length.
        """
        values = self.finite
        half = max(1, values.size // 40)
        if values.size > _LONG:
            offsets = np.linspace(-half, half, 401).astype(int)
            centres = np.linspace(0, values.size - 1, _LONG // 2).astype(int)
            windows = values[np.clip(centres[:, None] + offsets[None, :], 0, values.size - 1)]
            smoothed: FloatArray = np.interp(np.arange(values.size), centres, np.median(windows, axis=1))
            return smoothed
        padded = np.pad(values, half, mode="edge")
        return np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1), axis=1)

    @property
    def best(self) -> float:
        """Lowest smoothed value."""
        return float(self.smooth().min()) if self.count else math.nan

    @property
    def best_index(self) -> int:
        return int(self.smooth().argmin()) if self.count else 0


def stream_terms(trace: Trace, stream: str) -> tuple[Mapping[str, Any], ...]:
    """The terms of a stream's loss, as first seen."""
    for fact in trace.facts("loss.structure"):
        if fact.data.get("stream") == stream:
            return tuple(fact.data["terms"])
    return ()


def loss_curves(trace: Trace) -> list[LossCurve]:
    """Every stream of training losses, the longest first (by rows; ties in order of appearance)."""
    series = trace.series("loss.value")
    curves = []
    for index, place in enumerate(series.places):
        column = series.values[:, index]
        seen = ~np.isnan(column)
        terms = stream_terms(trace, place.name)
        kind = str(terms[0]["kind"]) if terms else ""
        constant = constant_predictor(trace, place.name, terms)
        part = None if constant is not None else known_part(trace, place.name, terms)
        curves.append(LossCurve(place, series.steps[seen], column[seen], constant, kind, terms, part))
    curves.sort(key=lambda curve: -curve.values.size)
    return curves


def known_part(trace: Trace, stream: str, terms: tuple[Mapping[str, Any], ...]) -> float | None:
    """What a constant guess reaches in the terms where it is known, added up; None where one of these is subtracted."""
    if len(terms) < 2:
        return None
    total = 0.0
    for index, term in enumerate(terms):
        constant = constant_predictor(trace, stream if index == 0 else f"{stream}.{index}", (term,))
        if constant is None or constant <= 1e-9:
            continue
        if term["sign"] < 0:
            return None
        total += constant
    return total or None


def class_shares(trace: Trace, stream: str) -> tuple[FloatArray, FloatArray] | None:
    """Shares of classes among targets and among predictions over the run, both of shape (classes,)."""
    found = [fact for fact in trace.facts("target.histogram") if fact.place is not None and fact.place.name == stream]
    if not found:
        return None
    data = found[-1].data
    size = max([int(k) for k in (*data["targets"], *data["predictions"])], default=0) + 1
    shares = []
    for name in ("targets", "predictions"):
        counts = np.zeros(size)
        for key, value in data[name].items():
            counts[int(key)] = value
        shares.append(counts / max(1.0, counts.sum()))
    return shares[0], shares[1]


def label_smoothing(terms: tuple[Mapping[str, Any], ...]) -> float | None:
    """Share of the target that label smoothing spreads over the classes; None where the loss is no such loss.

    The library computes it as (1 - e) times the log-likelihood, plus e / C times the sum over all C log-probabilities.
    """
    if len(terms) != 2 or terms[0]["kind"] != "cross_entropy" or not terms[0].get("class_count"):
        return None
    likelihood, spread = terms
    if (
        spread["operation"] != "LogSoftmax"
        or spread["sign"] > 0
        or spread.get("producer") != likelihood.get("producer")
    ):
        return None
    over_classes = float(spread["factor"]) * int(likelihood["class_count"])
    share = over_classes / (over_classes + float(likelihood["factor"]))
    return share if 0 < share < 0.9 else None


def constant_predictor(trace: Trace, stream: str, terms: tuple[Mapping[str, Any], ...]) -> float | None:
    """The loss of the best constant prediction over the run: the targets' entropy, variance or mean deviation.

    Only for a loss of one unweighted mean term, label smoothing allowed; None elsewhere.
    """
    smoothing = label_smoothing(terms)
    if (len(terms) != 1 and smoothing is None) or terms[0].get("weighted"):
        return None
    term = terms[0]
    factor = float(term.get("factor", 1.0))
    if term.get("reduction") == "sum":
        _, elements = trace.scalar("loss.elements", stream)
        factor *= float(np.median(elements)) if elements.size else 1.0
    kind = term["kind"]
    if kind == "cross_entropy":
        shares = class_shares(trace, stream)
        if shares is not None:
            asked = shares[0]
            if smoothing:
                classes = int(term["class_count"])
                asked = (1 - smoothing) * np.pad(asked, (0, max(0, classes - asked.size))) + smoothing / classes
                factor /= 1 - smoothing
            positive = asked[asked > 0]
            return float(-(positive * np.log(positive)).sum()) * factor
        _, entropy = trace.scalar("target.entropy", stream)
        return float(np.median(entropy)) * factor if entropy.size else None
    if kind in ("binary_cross_entropy", "binary_cross_entropy_with_logits"):
        _, mean = trace.scalar("target.mean", stream)
        if not mean.size:
            return None
        p = float(np.clip(np.mean(mean), 1e-7, 1 - 1e-7))
        return -(p * math.log(p) + (1 - p) * math.log(1 - p)) * factor
    if kind in ("mse", "handmade_square"):
        _, spread = trace.scalar("target.std", stream)
        _, mean = trace.scalar("target.mean", stream)
        # Infinite where a target is, and where one got back from a residual is lost in the rounding of the prediction.
        spread, mean = spread[np.isfinite(spread)], mean[np.isfinite(mean)]
        return float(np.mean(spread**2) + np.var(mean)) * factor if spread.size else None
    _, constants = trace.scalar("loss.term_constant", stream)
    constants = constants[np.isfinite(constants)]
    return float(np.median(constants)) if constants.size else None
