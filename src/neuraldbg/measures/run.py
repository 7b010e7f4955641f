"""One recorded run with the numbers that many rules ask for, computed once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from neuraldbg.measures.depth import Chain, main_chain
from neuraldbg.measures.loss_curve import LossCurve, loss_curves
from neuraldbg.measures.membership import last_rows
from neuraldbg.records import Series, Trace

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_EMPTY: tuple[IntArray, FloatArray] = (np.empty(0, np.int64), np.empty(0))


#: Losses below which a level is no verdict on the labels.
_SHORT = 60


class Run:
    """A trace and its derived numbers."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._chains: dict[str, Chain | None] = {}

    # loss ---------------------------------------------------------------------------------------------------------

    @cached_property
    def curves(self) -> list[LossCurve]:
        return loss_curves(self.trace)

    @cached_property
    def loss(self) -> LossCurve | None:
        """The main loss: the longest stream; of equally long ones the one that was seen first."""
        return self.curves[0] if self.curves else None

    @cached_property
    def adversarial(self) -> bool:
        """Whether several players train against each other, so that no loss has to fall.

        Several optimizers, each with a backward of its own. Several optimizers that step on one backward share a loss.
        """
        players = [name for name, data in self.optimizers.items() if any(g.get("watched") for g in data["groups"])]
        return len(players) > 1 and self.optimizer_steps < 1.5 * self.backwards and not self._one_after_the_other

    @cached_property
    def one_player_wins(self) -> bool:
        """Whether the main loss falls to little as another player's doubles, and says nothing of learning."""
        if not self.adversarial or self.loss is None or self.bad_step is not None:
            return False
        fell = 0 <= self.loss.end < 0.2 * self.loss.first
        others = [curve for curve in self.curves if curve is not self.loss and curve.count >= 20]
        return fell and any(0 < 2 * curve.first < curve.end for curve in others)

    @cached_property
    def _one_after_the_other(self) -> tuple[str, ...]:
        """Optimizers in order where each begins when the one before has stepped for the last time, as on a resume."""
        series = self.trace.series("gradient.norm")
        seasons = sorted((steps[0], steps[-1], name) for name in series.names if (steps := series.column(name)[0]).size)
        follow = len(seasons) > 1 and all(a[1] < b[0] for a, b in itertools.pairwise(seasons))
        return tuple(name for _, _, name in seasons) if follow else ()

    @cached_property
    def bad_step(self) -> int | None:
        """First step with a non-finite loss."""
        steps = [curve.first_bad_step for curve in self.curves if curve.first_bad_step is not None]
        return min(steps) if steps else None

    @cached_property
    def non_finite_step(self) -> int | None:
        """Step of the first loss or gradient that was recorded as not finite."""
        facts = (*self.trace.facts("nonfinite.loss"), *self.trace.facts("nonfinite.gradient"))
        return min((fact.step for fact in facts), default=None)

    @cached_property
    def trouble_step(self) -> int | None:
        """The step at which the loss became non-finite, or left its lowest level for good; None when it did not."""
        if self.bad_step is not None:
            return self.bad_step
        curve = self.loss
        if curve is None or curve.count < 20:
            return None
        if self.adversarial:
            return None
        smooth = curve.smooth()
        low = int(smooth.argmin())
        fell = max(float(smooth[0]), curve.first) - float(smooth[low])
        # The noise of the stretch before: a run that breaks away has no noise level of its own afterwards.
        calm = curve.finite[max(0, low - 60) : low + 1]
        noise = float(np.median(np.abs(np.diff(calm)))) if calm.size > 4 else curve.noise
        threshold = smooth[low] + max(0.5 * fell, 3 * noise, 0.02 * abs(float(smooth[low])))
        above = np.flatnonzero(smooth[low:] > threshold)
        if not above.size or curve.end <= threshold:
            return None
        finite = np.flatnonzero(np.isfinite(curve.values))
        return int(curve.steps[finite[low + above[0]]])

    def learned_to(self, share: float) -> bool:
        """Whether the loss ends below a share of its start and of a constant guess, and stayed finite.

        A setting that is unusual is no fault of a run that learns all the same.
        """
        curve = self.loss
        if curve is None or curve.count < 20 or self.bad_step is not None or curve.first <= 0 or self.one_player_wins:
            return False
        return abs(curve.end) < share * curve.to_beat or self.had_learned()

    def began_trained(self, share: float = 0.5) -> bool:
        """Whether the run began below a share of a constant guess and did not leave it: weights trained before."""
        curve = self.loss
        if curve is None or curve.count < 8 or not curve.constant or curve.constant <= 1e-9:
            return False
        level = share * curve.constant
        return 0 <= curve.first < 1.5 * level and curve.start < level and curve.end < level

    def start_did_no_harm(self) -> bool:
        """Whether the run left its start behind, or began from weights that were trained before."""
        return self.learned_to(0.55) or self.began_trained()

    def had_learned(self) -> bool:
        """Whether nothing was left to learn from the start on."""
        return self.began_trained(0.1)

    def stopped_on_its_way(self) -> bool:
        """Whether the steps taken could have covered little, and the loss falls steadily or the run is short.

        The level of such a run is where it stands, no floor; a longer run would tell.
        """
        curve = self.loss
        _, predicted, _ = self.predicted_and_actual
        if curve is None or curve.count < 16 or self.bad_step is not None or self.adversarial or predicted.size < 5:
            return False
        parts = [float(np.mean(part)) for part in np.array_split(curve.finite, 4)]
        falls = -np.diff(parts)
        fell = parts[0] - parts[3]
        promised = float(np.mean(predicted)) * curve.count
        little = 0 < promised < 0.3 * abs(curve.start)
        if curve.count < _SHORT:
            # Means of a quarter each; twice the spread of their difference.
            return little or fell > 2 * curve.noise * math.sqrt(8 / curve.count)
        return little and fell > 0.2 * promised and bool((falls > 0).all() and falls[2] > 0.4 * falls.mean())

    def learns_steadily(self) -> bool:
        """Whether a good part of the loss is gone and what is left goes at the same rate as before.

        Such a run was stopped on its way. A loss that crawls towards a distant level looks the same from its curve
        alone; who asks must know that there is none.
        """
        curve = self.loss
        if curve is None or curve.count < 40 or self.bad_step is not None or self.adversarial or curve.first <= 0:
            return False
        if not self.learned_to(0.6):
            return False
        parts = [float(np.mean(part)) for part in np.array_split(curve.finite, 4)]
        falls = -np.diff(parts)
        return bool((falls > 0).all() and falls[2] > 0.5 * falls.mean())

    # optimizer ----------------------------------------------------------------------------------------------------

    @cached_property
    def optimizers(self) -> dict[str, Mapping[str, Any]]:
        """Settings by optimizer name, as first seen."""
        found: dict[str, Mapping[str, Any]] = {}
        for fact in self.trace.facts("optimizer.settings"):
            if fact.place is not None:
                found.setdefault(fact.place.name, fact.data)
        return found

    @cached_property
    def optimizer_class(self) -> str:
        return next((str(data["class"]) for data in self.optimizers.values()), "")

    @property
    def adaptive(self) -> bool:
        """Whether the optimizer divides by the size of the gradient, so that the loss's scale does not matter."""
        return any(word in self.optimizer_class for word in ("Adam", "RMS", "Ada", "Lion", "NAdam", "Adafactor"))

    @property
    def optimizer_steps(self) -> int:
        return int(self.trace.meta.get("counts", {}).get("optimizer_steps", 0))

    @property
    def backwards(self) -> int:
        return int(self.trace.meta.get("counts", {}).get("backwards", 0))

    @cached_property
    def main_optimizer(self) -> str:
        """The optimizer with the most elements watched."""
        return max(
            self.optimizers,
            key=lambda name: sum(
                g.get("elements", 0) * bool(g.get("watched")) for g in self.optimizers[name]["groups"]
            ),
            default="",
        )

    def setting(self, name: str) -> Any:
        """A setting of the first group of the main optimizer, or None."""
        data = self.optimizers.get(self.main_optimizer)
        return data["groups"][0].get(name) if data and data["groups"] else None

    @cached_property
    def learning_rate(self) -> tuple[IntArray, FloatArray]:
        """Steps and values of every change of the main optimizer's learning rate (the largest group's)."""
        series = self.trace.series("optimizer.learning_rate")
        if not series:
            return _EMPTY
        parts = []
        for name in self._one_after_the_other or (self.main_optimizer,):
            names = [n for n in series.names if n == name or n.startswith(name + ".group")] or list(series.names)
            best = max(names, key=lambda n: float(series.column(n)[1].max(initial=0.0)))
            parts.append(series.column(best))
        return np.concatenate([steps for steps, _ in parts]), np.concatenate([values for _, values in parts])

    def learning_rate_at(self, steps: IntArray | int) -> FloatArray:
        """The learning rate in force at given steps."""
        changed, values = self.learning_rate
        wanted = np.atleast_1d(np.asarray(steps, np.int64))
        if not changed.size:
            return np.full(wanted.shape, np.nan)
        return values[np.clip(np.searchsorted(changed, wanted, side="right") - 1, 0, None)]

    # depth --------------------------------------------------------------------------------------------------------

    def chain(self, stage: str = "early") -> Chain | None:
        """The longest path of the data flow with its gradients and spreads at a stage of the run; kept."""
        if stage not in self._chains:
            self._chains[stage] = main_chain(self.trace, stage)
        return self._chains[stage]

    # columns ------------------------------------------------------------------------------------------------------

    def of_optimizer(self, quantity: str) -> tuple[IntArray, FloatArray]:
        """A run-level quantity of the main optimizer (``gradient.norm``, ``update.ratio`` ...)."""
        series = self.trace.series(quantity)
        if not series:
            return _EMPTY
        following = [name for name in self._one_after_the_other if name in series.names]
        if following:
            parts = [series.column(name) for name in following]
            return np.concatenate([steps for steps, _ in parts]), np.concatenate([values for _, values in parts])
        name = self.main_optimizer if self.main_optimizer in series.names else series.names[0]
        return series.column(name)

    def series(self, quantity: str) -> Series:
        return self.trace.series(quantity)

    def module_details(self, path: str) -> Mapping[str, Any]:
        place = self.trace.place("module", path)
        return place.details if place is not None else {}

    @cached_property
    def predicted_and_actual(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """For steps observed with their loss and the next step's: predicted and actual decrease of the main loss.

        The prediction is first order: minus gradient times update.
        """
        curve = self.loss
        if curve is None:
            return np.empty(0, np.int64), np.empty(0), np.empty(0)
        by_step: dict[int, float] = {}
        for step, value in zip(curve.steps.tolist(), curve.values.tolist()):
            by_step.setdefault(step, value)
        steps, dots = self.of_optimizer("update.dot_gradient")
        kept = [
            (step, -dot, by_step[step] - by_step[step + 1])
            for step, dot in zip(steps.tolist(), dots.tolist())
            if step in by_step and step + 1 in by_step and np.isfinite(dot)
        ]
        kept = [row for row in kept if np.isfinite(row[2])]
        if not kept:
            return np.empty(0, np.int64), np.empty(0), np.empty(0)
        table = np.array(kept)
        return table[:, 0].astype(np.int64), table[:, 1], table[:, 2]

    @cached_property
    def membership(self) -> Mapping[str, list[int]]:
        """Parameter → [requires gradient, held by a stepping optimizer, had a gradient], as last seen."""
        return last_rows(self.trace.facts("model.membership"))

    @cached_property
    def elements(self) -> Mapping[str, int]:
        found = self.trace.facts("model.membership")
        return found[-1].data.get("elements", {}) if found else {}

    @cached_property
    def had_gradient(self) -> dict[str, bool]:
        """Parameter → whether it ever had a gradient at an optimizer's step or at a membership check."""
        seen: dict[str, bool] = {}
        for fact in self.trace.facts("model.membership"):
            for name, row in fact.data["parameters"].items():
                seen[name] = seen.get(name, False) or bool(row[2])
        series = self.trace.series("parameter.has_gradient")
        for name, value in zip(series.names, series.largest.tolist()):
            seen[name] = seen.get(name, False) or value > 0
        return seen


def owner_of(parameter: str) -> str:
    """The module path of a parameter path."""
    return parameter.rpartition(".")[0]
