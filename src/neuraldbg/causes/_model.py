"""A Bayesian network of causes and findings, with exact inference.

Causes are hidden, findings are observed; each finding is a noisy-or of the causes that are at work, with a leak. The
hypotheses are: nothing failed; something that the vocabulary does not name; each candidate cause alone; each pair of
candidates. That is small enough to sum over exactly. Explaining away follows: once a learning rate that is too high
accounts for dead units, a dying ReLU is not needed for them.

Probabilities of a finding under a cause combine what the cause's file declares with counts from runs with known faults
(``_likelihoods.json``; how they were made is in bench/faultbench), as the mean of a Beta distribution.

References: Pearl, Probabilistic Reasoning in Intelligent Systems, 1988 (noisy-or, 4.3.2); Heckerman, A tractable
inference algorithm for diagnosing multiple diseases, 1989.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import combinations
from types import ModuleType
from typing import Any

from neuraldbg.records import Finding

NOTHING = "nothing_failed"
UNKNOWN = "not_in_vocabulary"

#: Weight of what a cause's file declares, in runs.
_DECLARED_WEIGHT = 6.0
#: Weight of the average over causes, in runs, for a finding that the file does not mention.
_AVERAGE_WEIGHT = 4.0
#: A finding is never taken for certain, whatever the counts say.
_FLOOR = 0.004
#: What is left of the prior of "nothing failed" when the loss became non-finite.
_NON_FINITE = 1e-4
#: The same when the loss ended above its start, or falls below zero ever faster: no healthy run of the bench did.
_RISEN = 0.02
#: Candidates among which pairs are considered.
_PAIR_CANDIDATES = 8


@dataclass(frozen=True)
class Posterior:
    """What the findings make of the hypotheses."""

    #: Probability that a cause is at work, by name; NOTHING and UNKNOWN among them.
    marginals: Mapping[str, float]
    #: The most probable set of causes.
    best: tuple[str, ...]
    #: log10 likelihood ratio of each finding between a cause and the average failure: cause → finding → weight.
    weights: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Parameters:
    """All numbers of the network."""

    #: P(finding) under a failure of an unnamed kind.
    average: Mapping[str, float]
    #: P(finding) when nothing failed.
    healthy: Mapping[str, float]
    #: P(finding | cause).
    by_cause: Mapping[str, Mapping[str, float]]
    #: Cause → the findings of which it shows at least one.
    ways: Mapping[str, Sequence[str]]
    #: Prior weights by hypothesis.
    prior: Mapping[str, float]
    #: Finding → what its log-likelihood is multiplied by: findings repeat each other, a fitted weight undoes that.
    weight: Mapping[str, float]


@cache
def counts() -> Mapping[str, Any]:
    """The fitted counts that ship with the package; empty when there are none."""
    file = resources.files("neuraldbg.causes").joinpath("_likelihoods.json")
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def parameters(rules: Mapping[str, ModuleType], findings: Sequence[str], fitted: Mapping[str, Any]) -> Parameters:
    """Combine declared and counted frequencies.

    Args:
        rules: cause → its module.
        findings: names of all findings.
        fitted: ``{"causes": {cause: {finding: [present, measured]}}, "healthy": {finding: [present, measured]},
            "weights": {finding: number}}``, or empty.
    """
    by_counts: Mapping[str, Mapping[str, Sequence[float]]] = fitted.get("causes", {})
    healthy_counts: Mapping[str, Sequence[float]] = fitted.get("healthy", {})
    average, healthy = {}, {}
    for finding in findings:
        declared_fail, declared_healthy = _SYMPTOMS.get(finding, (0.02, 0.006))
        shares = [
            (table[finding][0] + 0.3 * declared_fail) / (table[finding][1] + 0.3)
            for table in by_counts.values()
            if finding in table and table[finding][1] > 0
        ]
        mean = sum(shares) / len(shares) if shares else declared_fail
        average[finding] = _bounded((10 * declared_fail + len(shares) * mean) / (10 + len(shares)))
        seen, of = healthy_counts.get(finding, (0, 0))
        healthy[finding] = _bounded((seen + 8 * declared_healthy) / (of + 8))
    by_cause: dict[str, dict[str, float]] = {}
    for cause, rule in rules.items():
        table = by_counts.get(cause, {})
        row = {}
        for finding in findings:
            declared = rule.EVIDENCE.get(finding)
            weight = _AVERAGE_WEIGHT if declared is None else _DECLARED_WEIGHT
            expected = average[finding] if declared is None else float(declared)
            seen, of = table.get(finding, (0, 0))
            row[finding] = _bounded((seen + weight * expected) / (of + weight))
        by_cause[cause] = row
    prior = {cause: float(rule.PRIOR) for cause, rule in rules.items()}
    prior[NOTHING] = float(fitted.get("prior_nothing", 12.0))
    prior[UNKNOWN] = float(fitted.get("prior_unknown", 0.5))
    ways = {cause: tuple(rule.REQUIRES) for cause, rule in rules.items()}
    return Parameters(average, healthy, by_cause, ways, prior, fitted.get("weights", {}))


def infer(numbers: Parameters, answers: Mapping[str, Finding], candidates: Sequence[str]) -> Posterior:
    """The posterior over hypotheses, given the answers that were measured."""
    seen = {n: answer.present for n, answer in answers.items() if answer.present is not None and n not in CONTEXT}
    scores: dict[tuple[str, ...], float] = {}

    def score(rows: Sequence[Mapping[str, float]]) -> float:
        total = 0.0
        for name, present in seen.items():
            p = rows[0][name] if len(rows) == 1 else _noisy_or(rows[0][name], rows[1][name], numbers.average[name])
            total += numbers.weight.get(name, default_weight(name)) * math.log(p if present else 1 - p)
        return total

    # A loss that is not finite is a failure, whatever else is known of it.
    nothing = numbers.prior[NOTHING]
    if seen.get("loss_non_finite"):
        nothing *= _NON_FINITE
    elif seen.get("loss_ends_above_start") or seen.get("loss_falls_without_bound"):
        nothing *= _RISEN
    scores[(NOTHING,)] = math.log(nothing) + score([row_of(numbers, NOTHING, seen)])
    scores[(UNKNOWN,)] = math.log(numbers.prior[UNKNOWN]) + score([row_of(numbers, UNKNOWN, seen)])
    likelihoods = {cause: row_of(numbers, cause, seen) for cause in candidates}
    for cause in candidates:
        scores[(cause,)] = math.log(numbers.prior[cause]) + score([likelihoods[cause]])
    leading = sorted(candidates, key=lambda cause: -scores[(cause,)])[:_PAIR_CANDIDATES]
    for one, other in combinations(leading, 2):
        prior = math.log(0.02 * numbers.prior[one] * numbers.prior[other])
        scores[(one, other)] = prior + score([likelihoods[one], likelihoods[other]])
    top = max(scores.values())
    masses = {key: math.exp(value - top) for key, value in scores.items()}
    total = sum(masses.values())
    marginals = dict.fromkeys((NOTHING, UNKNOWN, *candidates), 0.0)
    for key, mass in masses.items():
        for name in key:
            marginals[name] += mass / total
    weights = {
        cause: {
            name: math.log10(_ratio(numbers.by_cause[cause][name], numbers.average[name], bool(present)))
            for name, present in seen.items()
        }
        for cause in candidates
    }
    return Posterior(marginals, max(masses, key=lambda key: masses[key]), weights)


def row_of(numbers: Parameters, hypothesis: str, seen: Mapping[str, bool]) -> Mapping[str, float]:
    """P(finding | hypothesis) for every finding, given which ones are present."""
    if hypothesis == NOTHING:
        return numbers.healthy
    if hypothesis == UNKNOWN:
        return _flattened(numbers.average)
    return _shown_by_one(numbers, hypothesis, seen)


def _shown_by_one(numbers: Parameters, cause: str, seen: Mapping[str, bool]) -> Mapping[str, float]:
    """The cause's row, given that it is a candidate: it shows itself through one of its defining findings at least.

    Adam's epsilon is too large, or its beta2 stale, or too small for float16: the absence of two of them says next to
    nothing once the third is there. The strongest one present counts as at least one half, absent ones at a third.
    """
    row = numbers.by_cause[cause]
    ways = numbers.ways.get(cause, ())
    here = [name for name in ways if seen.get(name)]
    if len(ways) < 2 or not here:
        return row
    strongest = max(here, key=lambda name: row[name] / numbers.average[name])
    changed = {name: _bounded(row[name] / 3) for name in ways if name in seen and not seen[name]}
    changed[strongest] = max(row[strongest], 0.5)
    return {**row, **changed}


#: Findings that other ones contain: they describe the run to the reader and take no part in the sums.
CONTEXT = frozenset(
    {
        "one_class_dominates",
        "validation_seen",
        "inputs_far_off_scale",
        "dropout_removes_nearly_all",
        "predictions_collapse_on_a_class",
    }
)


def default_weight(finding: str) -> float:
    """Weight of a finding before fitting: symptoms all look at one curve or one depth profile and repeat each other."""
    return 0.35 if finding in _SYMPTOMS else 1.2


def _noisy_or(one: float, other: float, leak: float) -> float:
    """Both causes may produce the finding; the leak, which is in both numbers, counts once."""
    return _bounded(1 - (1 - one) * (1 - other) / max(1 - min(leak, one, other), 1e-6))


def _ratio(p: float, q: float, present: bool) -> float:
    return p / q if present else (1 - p) / (1 - q)


def _bounded(p: float) -> float:
    return min(1 - _FLOOR, max(_FLOOR, p))


def _flattened(average: Mapping[str, float]) -> Mapping[str, float]:
    """A failure that nothing in the vocabulary names: the symptoms of an average failure, and no specific finding."""
    return {name: p if name in _SYMPTOMS else min(p, 0.03) for name, p in average.items()}


#: Findings that are common, or symptoms: (share among failures, share among healthy runs) before any counting.
_SYMPTOMS: Mapping[str, tuple[float, float]] = {
    "run_learned_well": (0.06, 0.75),
    "run_did_not_learn": (0.55, 0.01),
    "loss_non_finite": (0.2, 0.004),
    "loss_ends_above_start": (0.15, 0.02),
    "loss_left_its_best": (0.2, 0.02),
    "loss_at_constant_predictor": (0.3, 0.04),
    "loss_above_constant_predictor": (0.2, 0.06),
    "loss_beats_constant_clearly": (0.2, 0.8),
    "loss_fell_to_little": (0.12, 0.72),
    "loss_fell_by_half": (0.3, 0.88),
    "loss_never_moved": (0.2, 0.01),
    "loss_fell_then_stopped_early": (0.15, 0.08),
    "loss_still_falling_slowly": (0.12, 0.08),
    "loss_spiked": (0.08, 0.03),
    "loss_noisy": (0.15, 0.12),
    "loss_swings_grow": (0.06, 0.02),
    "first_loss_huge": (0.08, 0.02),
    "accuracy_at_chance": (0.4, 0.05),
    "predictions_collapse_on_a_class": (0.3, 0.05),
    "predictions_do_not_vary": (0.3, 0.05),
    "gradients_unrelated": (0.4, 0.4),
    "gradients_parallel": (0.15, 0.08),
    "gradients_oppose": (0.06, 0.04),
    "updates_small": (0.15, 0.12),
    "updates_large": (0.15, 0.1),
    "updates_huge_at_start": (0.15, 0.06),
    "predicted_decrease_is_large": (0.12, 0.1),
    "gradients_clipped": (0.1, 0.15),
    "run_has_several_losses": (0.06, 0.08),
    "run_is_short": (0.02, 0.02),
    "stack_is_deep": (0.25, 0.25),
    "model_is_recurrent": (0.12, 0.12),
    "gradient_shrinks_over_depth": (0.2, 0.08),
    "gradient_loss_concentrated": (0.25, 0.2),
    "weights_grow": (0.1, 0.03),
    "validation_seen": (0.3, 0.3),
    "training_far_below_validation_at_end": (0.06, 0.05),
    "validation_gap_is_wide": (0.1, 0.02),
    "weights_in_16_bit": (0.05, 0.03),
    "float16_in_use": (0.05, 0.03),
    "some_parameters_frozen": (0.08, 0.08),
    "loss_is_summed": (0.06, 0.05),
    "loss_is_reweighted": (0.04, 0.06),
    "linear_layers_in_a_row": (0.1, 0.1),
}
