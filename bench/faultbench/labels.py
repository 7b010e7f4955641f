"""Decides whether an injected run really failed, and whether a healthy one really trained."""

from __future__ import annotations

import math

from bench.faultbench.loop import Outcome
from bench.faultbench.recipe import UNKNOWN, Recipe

#: Share of the way from the twin to a constant predictor that a failed run is behind at least.
BEHIND = 0.15
#: Metric below which a loss of quality is not worth a word.
FLOOR = 0.12
#: Mean metric over a run by which a slow one is behind at least.
SLOWER = 0.06
#: Rounds after the onset within which a sudden fault must show.
WINDOWS = (15, 60)


def _tail(values: list[float]) -> float:
    """Mean of the last fifth."""
    last = values[-max(1, len(values) // 5) :]
    return sum(last) / len(last) if last else math.nan


def worse(metric: float, twin: float) -> bool:
    """Whether a metric is clearly worse than the twin's (0 perfect, 1 a constant predictor)."""
    return not math.isfinite(metric) or (metric > FLOOR and metric - twin > BEHIND * max(1 - twin, 0.2))


def broke(outcome: Outcome) -> bool:
    """Whether the program stopped with an error or lost its numbers."""
    return outcome.error is not None or outcome.first_non_finite is not None or not math.isfinite(_tail(outcome.losses))


def really_failed(judge: str, recipe: Recipe, outcome: Outcome, twin: Outcome) -> bool:
    """Whether the injected fault did harm, by the injector's way of judging.

    failure     the training metric, lost numbers, or a loss below its floor
    loss        as failure, or the loss itself stays clearly above the twin's
    window      the metric over the rounds after the onset
    slower      as failure, or the metric over the whole run is clearly behind the twin's
    clean       the finished model on untouched data
    validation  the validation metric
    overfit     validation rises again while training is far better
    structure   the fault is one whatever the curve says
    """
    if judge == "structure":
        return True
    if broke(outcome):
        return judge not in ("validation", "overfit")
    if judge == "validation":
        return _validation(outcome, twin)
    if judge == "overfit":
        return _overfit(outcome, twin)
    if judge == "clean":
        return worse(outcome.clean, twin.clean) or worse(outcome.final, twin.final)
    if judge == "slower":
        here, there = outcome.metrics, twin.metrics
        behind = sum(min(one, 2.0) - min(other, 2.0) for one, other in zip(here, there)) / len(there)
        start, end, best = outcome.losses[0], _tail(outcome.losses), _tail(twin.losses)
        if behind > SLOWER or end - best > SLOWER * max(start - best, 1e-6):
            return True
    if judge == "window":
        first = recipe.label.onset[1] + 1
        for width in WINDOWS:
            here, there = outcome.metrics[first : first + width], twin.metrics[first : first + width]
            if here and worse(sum(here) / len(here), sum(there) / len(there)):
                return True
    below_floor = recipe.task in ("classes", "binary", "tokens", "regression") and _tail(outcome.losses) < -0.5
    if below_floor or worse(outcome.final, twin.final):
        return True
    if judge == "loss":
        start, end, best = outcome.losses[0], _tail(outcome.losses), _tail(twin.losses)
        reference = max(twin.losses[0], start)
        return end - best > BEHIND * max(reference - best, 1e-6)
    return False


def _validation(outcome: Outcome, twin: Outcome) -> bool:
    if not outcome.validations or not twin.validations:
        return False
    return worse(outcome.validations[-1][2], twin.validations[-1][2])


def _overfit(outcome: Outcome, twin: Outcome) -> bool:
    losses = [loss for _, loss, _ in outcome.validations]
    if len(losses) < 4 or not twin.validations:
        return False
    rises = losses[-1] > 1.2 * min(losses) and losses[-1] > 2 * _tail(outcome.losses)
    return rises and outcome.final < 0.6 * outcome.validations[-1][2] and twin.validations[-1][1] < losses[-1]


def trained_well(recipe: Recipe, outcome: Outcome) -> bool:
    """Whether a healthy run reached what its family reaches."""
    return not broke_for_good(outcome) and outcome.final < recipe.good


def broke_for_good(outcome: Outcome) -> bool:
    return outcome.error is not None or not math.isfinite(_tail(outcome.losses))


def settle_onset(recipe: Recipe, outcome: Outcome) -> None:
    """Fill in an onset that only the run could tell."""
    if recipe.label.cause == "overfitting" and outcome.validations:
        best = min(outcome.validations, key=lambda entry: entry[1])[0]
        every = recipe.loop.validation_every
        recipe.label.onset = (max(0, best - every), best + 3 * every)
    if recipe.label.onset == UNKNOWN:
        if outcome.first_non_finite is None:
            recipe.label.onset = (0, recipe.steps - 1)
        else:
            recipe.label.onset = (max(0, outcome.first_non_finite - 1), outcome.first_non_finite)
