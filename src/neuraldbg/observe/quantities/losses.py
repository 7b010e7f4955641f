"""Predictions and targets, as the loss sees them.

Quantities (place kind ``loss``, one place per term): ``prediction.mean``, ``prediction.std``, ``prediction.min``,
``prediction.max``, ``prediction.batch_spread``, ``prediction.row_sum_error`` (how far rows are from summing to one),
``target.mean``, ``target.std``, ``target.min``, ``target.max``, ``target.nonfinite`` (count), ``target.out_of_range``
(share), ``target.classes`` (present in the batch), ``target.top_share``, ``target.entropy`` (nats, of the batch's class
ids), ``target.top_class``, ``prediction.top_share``, ``prediction.accuracy``,
``prediction.rare_recall`` (share of the samples outside the commonest class that are recognized;
-1 in a batch without such samples), ``prediction.entropy`` (nats, of the mean
prediction), ``loss.term_constant`` (what the best constant predictor reaches on the batch), ``loss.per_element``
(what a
mean reduction would give where the reduction is a sum), ``loss.elements``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from neuraldbg.observe import kernels
from neuraldbg.observe.autograd import Node, saved, saved_tensor
from neuraldbg.observe.loss_structure import Term
from neuraldbg.observe.pending import Pending

_RESIDUAL = {"mse", "l1", "smooth_l1", "huber"}
#: Class counts above this are not kept as a histogram.
_HISTOGRAM = 64
#: Roundings of the largest prediction above which a target that is got back from a residual says something.
_ROUNDINGS = 100.0
#: Rounding below which such a target is right as it stands, a target of zeros among them.
_NO_ROUNDING = 1e-4


@dataclass
class ClassHistogram:
    """How often each class was a target so far, and how often it was predicted."""

    targets: dict[int, int] = field(default_factory=dict)
    predictions: dict[int, int] = field(default_factory=dict)

    def add(self, targets: Tensor, predictions: Tensor) -> None:
        for counts, ids in ((self.targets, targets), (self.predictions, predictions)):
            for identifier, count in enumerate(torch.bincount(ids, minlength=0).tolist()):
                if count:
                    counts[identifier] = counts.get(identifier, 0) + count

    def data(self) -> dict[str, Any]:
        return {
            "targets": {str(k): v for k, v in sorted(self.targets.items())},
            "predictions": {str(k): v for k, v in sorted(self.predictions.items())},
        }


def measure_term(
    pending: Pending, place: int, term: Term, value_of: Callable[[Node], Tensor | None], histogram: ClassHistogram
) -> None:
    """Numbers about one term of the loss, before its backward."""
    if term.kind == "cross_entropy":
        _cross_entropy(pending, place, term, histogram)
    elif term.kind in ("binary_cross_entropy", "binary_cross_entropy_with_logits"):
        _binary(pending, place, term)
    elif term.kind in _RESIDUAL:
        prediction, target = saved_tensor(term.node, "self"), saved_tensor(term.node, "target")
        if prediction is not None and target is not None:
            _regression(pending, place, term, prediction, target)
    elif term.kind in ("handmade_square", "handmade_absolute", "handmade_norm"):
        residual = saved_tensor(term.node, "self")
        prediction = value_of(term.prediction) if term.prediction is not None else None
        if residual is None or prediction is None:
            return
        if prediction.numel() == residual.numel():
            prediction = prediction.reshape(residual.shape)
        try:
            target = prediction - residual if term.operand == 0 else prediction + residual
            # Where the prediction is not finite the residual says nothing of the target.
            target = torch.where(torch.isfinite(prediction), target, torch.zeros_like(target))
        except RuntimeError:
            return
        if term.broadcasts:
            # Over a stretched residual the prediction repeats, and so does the target.
            prediction = prediction.expand_as(residual) if prediction.dim() <= residual.dim() else prediction
        _regression(pending, place, term, prediction, target)
    elif term.prediction is not None:
        prediction = value_of(term.prediction)
        if prediction is not None:
            _prediction(pending, place, prediction)


def _prediction(pending: Pending, place: int, prediction: Tensor) -> None:
    if not kernels.is_number_tensor(prediction):
        return
    values = kernels.flat(prediction)
    low, high = torch.aminmax(values)
    deviation, mean = torch.std_mean(values, correction=0)
    pending.add("prediction.mean", place, mean)
    pending.add("prediction.std", place, deviation)
    pending.add("prediction.min", place, low)
    pending.add("prediction.max", place, high)
    if prediction.dim() >= 1 and prediction.shape[0] > 1:
        pending.add("prediction.batch_spread", place, kernels.spread_over_batch(kernels.rows(prediction, 65536)))


def _target(pending: Pending, place: int, target: Tensor, known: Tensor | None = None) -> None:
    """Numbers about the targets; where ``known`` (0-dim, of bool) is false, all but the count are infinite."""
    values = kernels.flat(target)
    low, high = torch.aminmax(values)
    deviation, mean = torch.std_mean(values, correction=0)
    pending.add("target.nonfinite", place, (~torch.isfinite(target)).sum().float())
    if known is not None:
        mean, deviation, low, high = torch.where(known, torch.stack((mean, deviation, low, high)), torch.inf).unbind()
    pending.add("target.mean", place, mean)
    pending.add("target.std", place, deviation)
    pending.add("target.min", place, low)
    pending.add("target.max", place, high)


def _outlives_rounding(prediction: Tensor, target: Tensor) -> Tensor:
    """Whether a target that was got back from prediction and residual is more than their rounding; 0-dim, of bool."""
    rounding = torch.finfo(target.dtype).eps * prediction.abs().max()
    return (target.abs().max() > _ROUNDINGS * rounding) & torch.isfinite(rounding) | (rounding < _NO_ROUNDING)


def _regression(pending: Pending, place: int, term: Term, prediction: Tensor, target: Tensor) -> None:
    if not (kernels.is_number_tensor(prediction) and kernels.is_number_tensor(target)):
        return
    _prediction(pending, place, prediction)
    known = _outlives_rounding(prediction, target) if term.kind.startswith("handmade") else None
    _target(pending, place, target, known)
    values = kernels.flat(target)
    if "square" in term.kind or term.kind == "mse":
        constant = values.var(correction=0)
    elif term.kind in ("l1", "handmade_absolute"):
        constant = (values - values.median()).abs().mean()
    else:
        center = values.median()
        absolute = (values - center).abs()
        beta = saved(term.node, "beta") or saved(term.node, "delta") or 1.0
        quadratic = torch.where(absolute < beta, 0.5 * absolute.square() / beta, absolute - 0.5 * beta)
        constant = (quadratic * beta if term.kind == "huber" else quadratic).mean()
    constant = constant * term.factor
    pending.add("loss.term_constant", place, constant if known is None else torch.where(known, constant, torch.inf))
    pending.add("loss.elements", place, float(prediction.numel()))


def _cross_entropy(pending: Pending, place: int, term: Term, histogram: ClassHistogram) -> None:
    log_probabilities, target = saved_tensor(term.node, "self"), saved_tensor(term.node, "target")
    if log_probabilities is None or target is None or log_probabilities.dim() < 1 or target.numel() == 0:
        return
    classes = log_probabilities.shape[1] if log_probabilities.dim() > 1 else log_probabilities.shape[0]
    term.extra["class_count"] = int(classes)
    table = kernels.unit_view(log_probabilities, 1) if log_probabilities.dim() > 1 else log_probabilities[None]
    ids = target.reshape(-1)
    if table.shape[0] > 8192:
        step = (table.shape[0] // 4096) | 1
        table, ids = table[::step], ids[::step]
    table = table.float()
    ignore = saved(term.node, "ignore_index")
    if isinstance(ignore, int) and ignore >= 2**63:
        ignore -= 2**64
    kept = ids != ignore
    in_range = (ids >= 0) & (ids < classes)
    pending.add("target.out_of_range", place, kernels.share(kept & ~in_range))
    weight = (kept & in_range).float()
    count = weight.sum().clamp_min(1.0)
    safe = ids.clamp(0, classes - 1)
    if classes <= 4096:
        counts = torch.zeros(classes, dtype=torch.float32, device=table.device).index_add_(0, safe, weight)
        shares = counts / count
        entropy = torch.special.entr(shares).sum()
        pending.add("target.classes", place, (counts > 0).sum().float())
        pending.add("target.top_share", place, shares.amax())
        pending.add("target.top_class", place, shares.argmax().float())
        pending.add("target.entropy", place, entropy)
        pending.add("loss.term_constant", place, entropy * term.factor)
    predicted = table.argmax(1)
    pending.add("prediction.accuracy", place, ((predicted == safe).float() * weight).sum() / count)
    if classes <= 4096:
        # How many of the samples outside the batch's commonest class are recognized.
        rare = weight * (safe != shares.argmax()).float()
        hits = ((predicted == safe).float() * rare).sum()
        pending.add(
            "prediction.rare_recall", place, torch.where(rare.sum() > 0, hits / rare.sum().clamp_min(1.0), -1.0)
        )
        predicted_counts = torch.zeros(classes, dtype=torch.float32, device=table.device).index_add_(
            0, predicted, weight
        )
        pending.add("prediction.top_share", place, predicted_counts.amax() / count)
        mean_prediction = table.exp().mean(0)
        pending.add("prediction.entropy", place, torch.special.entr(mean_prediction).sum())
    pending.add("prediction.row_sum_error", place, (table.exp().sum(1) - 1).abs().amax())
    pending.add("prediction.confidence", place, table.amax(1).exp().mean())
    if table.shape[0] > 1:
        pending.add("prediction.batch_spread", place, kernels.spread_over_batch(table))
    pending.add("loss.elements", place, float(target.numel()))
    if classes <= _HISTOGRAM and table.device.type == "cpu":
        good = kept & in_range
        histogram.add(safe[good], predicted[good])


def _binary(pending: Pending, place: int, term: Term) -> None:
    prediction, target = saved_tensor(term.node, "self"), saved_tensor(term.node, "target")
    if prediction is None or target is None or not kernels.is_number_tensor(target):
        return
    _prediction(pending, place, prediction)
    _target(pending, place, target)
    values = kernels.flat(target)
    pending.add("target.out_of_range", place, kernels.share((values < 0) | (values > 1)))
    positive = values.mean().clamp(1e-7, 1 - 1e-7)
    entropy = -(positive * positive.log() + (1 - positive) * (1 - positive).log())
    pending.add("loss.term_constant", place, entropy * term.factor)
    pending.add("target.entropy", place, entropy)
    pending.add("target.top_share", place, torch.maximum(positive, 1 - positive))
    threshold = 0.5 if term.kind == "binary_cross_entropy" else 0.0
    decided = kernels.flat(prediction) > threshold
    share = kernels.share(decided)
    pending.add("prediction.top_share", place, torch.maximum(share, 1 - share))
    if decided.numel() == values.numel():
        pending.add("prediction.accuracy", place, kernels.share(decided == (values > 0.5)))
        positives = (values > 0.5).float()
        rare = torch.where(positive < 0.5, positives, 1 - positives)
        hits = (rare * (decided == (values > 0.5)).float()).sum()
        pending.add(
            "prediction.rare_recall", place, torch.where(rare.sum() > 0, hits / rare.sum().clamp_min(1.0), -1.0)
        )
    pending.add("loss.elements", place, float(prediction.numel()))
    if target.dim() >= 1 and target.shape[0] > 1:
        pending.add("target.batch_spread", place, kernels.spread_over_batch(kernels.rows(target, 65536)))


def uniform_guess(classes: int) -> float:
    """Cross entropy of a uniform guess, nats."""
    return math.log(max(1, classes))
