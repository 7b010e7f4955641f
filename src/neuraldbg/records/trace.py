"""A recorded run, as the rules read it: series of numbers, facts, and the data flow of the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from neuraldbg.records.observation import Fact, FlowEdge, Observation, Place

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Series:
    """One quantity over time: a row per observation, a column per place."""

    #: Step of each row, ascending; shape (rows,). A step that was observed twice (accumulation) has two rows.
    steps: IntArray
    #: Shape (rows, places); NaN where a place was not observed.
    values: FloatArray
    places: tuple[Place, ...]

    def __bool__(self) -> bool:
        return self.values.size > 0

    def column(self, place: str) -> tuple[IntArray, FloatArray]:
        """Steps and values of one place, without the rows in which it was not observed; both of shape (rows,)."""
        index = self.position.get(place)
        if index is None:
            return np.empty(0, np.int64), np.empty(0)
        column = self.values[:, index]
        seen = ~np.isnan(column)
        return self.steps[seen], column[seen]

    def of_kind(self, kind: str) -> Series:
        """The columns whose place is of one kind."""
        kept = [index for index, place in enumerate(self.places) if place.kind == kind]
        if len(kept) == len(self.places):
            return self
        return Series(self.steps, self.values[:, kept], tuple(self.places[index] for index in kept))

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(place.name for place in self.places)

    @cached_property
    def position(self) -> dict[str, int]:
        """Column of each place by its name; the first one where several have it."""
        return {name: index for index, name in reversed(list(enumerate(self.names)))}

    @cached_property
    def first(self) -> FloatArray:
        """The first observed value of each place; shape (places,)."""
        if not len(self.values):
            return np.full(self.values.shape[1], np.nan)
        row = np.argmax(~np.isnan(self.values), axis=0)
        found: FloatArray = self.values[row, np.arange(self.values.shape[1])]
        return found

    @cached_property
    def largest(self) -> FloatArray:
        """The largest observed value of each place, and at least 0; shape (places,)."""
        found: FloatArray = np.fmax.reduce(self.values, axis=0, initial=0.0)
        return found


@dataclass(frozen=True)
class Block:
    """Rows of one quantity that share their places, as arrays; how a trace file keeps observations."""

    #: Shape (rows,).
    steps: IntArray
    #: Identifiers of the places; shape (places,).
    places: IntArray
    #: Shape (rows, places).
    values: FloatArray


EMPTY_SERIES = Series(np.empty(0, np.int64), np.empty((0, 0)), ())


class Trace:
    """Everything that was recorded of one run. Read-only; needs no torch."""

    def __init__(
        self,
        places: Iterable[Place],
        observations: Iterable[Observation],
        facts: Iterable[Fact],
        meta: Mapping[str, Any],
        blocks: Mapping[str, Sequence[Block]] | None = None,
    ) -> None:
        """Take observations one by one, or as blocks by quantity (from a file); a series is built at its first use."""
        self.places = tuple(places)
        self.meta = dict(meta)
        self._by_identifier = {place.identifier: place for place in self.places}
        self._by_name = {(place.kind, place.name): place for place in self.places}
        self._blocks = dict(blocks or {})
        self._observations: dict[str, list[Observation]] = {}
        for observation in observations:
            self._observations.setdefault(observation.quantity, []).append(observation)
        self._facts: dict[str, list[Fact]] = {}
        for fact in facts:
            self._facts.setdefault(fact.name, []).append(fact)
        self._series: dict[str, Series] = {}

    def replacing(self, blocks: Mapping[str, Sequence[Block]]) -> Trace:
        """The same trace with other numbers for some quantities; one without blocks was never observed."""
        changed = Trace(self.places, (), (), self.meta, {**self._blocks, **blocks})
        changed._observations = {name: rows for name, rows in self._observations.items() if name not in blocks}
        changed._facts = self._facts
        return changed

    @property
    def quantities(self) -> tuple[str, ...]:
        return tuple(sorted({*self._observations, *self._blocks}))

    def series(self, quantity: str) -> Series:
        """The series of a quantity; empty (and false) when it was never observed."""
        if quantity not in self._series:
            blocks = [*self._blocks.get(quantity, ()), *_as_blocks(self._observations.get(quantity, ()))]
            self._series[quantity] = self._build(blocks)
        return self._series[quantity]

    def scalar(self, quantity: str, place: str | None = None) -> tuple[IntArray, FloatArray]:
        """Steps and values of a quantity at one place (the only or first one if not named)."""
        series = self.series(quantity)
        if not series:
            return np.empty(0, np.int64), np.empty(0)
        return series.column(series.places[0].name if place is None else place)

    def facts(self, name: str) -> tuple[Fact, ...]:
        """All facts of one name, earliest first."""
        return tuple(sorted(self._facts.get(name, ()), key=lambda fact: fact.step))

    def place(self, kind: str, name: str) -> Place | None:
        """The place of that kind and name, or None."""
        return self._by_name.get((kind, name))

    @cached_property
    def flow(self) -> tuple[FlowEdge, ...]:
        """The data flow between module outputs, from the autograd graph of a real step."""
        found = self.facts("model.flow")
        if not found:
            return ()
        edges = found[-1].data["edges"]
        return tuple(FlowEdge(source, target, tuple(operations)) for source, target, operations in edges)

    @cached_property
    def last_step(self) -> int:
        """The last step seen, -1 when there was none."""
        return int(self.meta.get("last_step", -1))

    @property
    def steps(self) -> int:
        """How many steps were seen."""
        return self.last_step + 1

    def _build(self, blocks: Sequence[Block]) -> Series:
        if not blocks:
            return EMPTY_SERIES
        steps = np.concatenate([block.steps for block in blocks])
        identifiers = np.unique(np.concatenate([block.places for block in blocks]))
        values = np.full((len(steps), len(identifiers)), np.nan)
        row = 0
        for block in blocks:
            columns = np.searchsorted(identifiers, block.places)
            values[row : row + len(block.steps), columns] = block.values
            row += len(block.steps)
        if np.any(steps[1:] < steps[:-1]):
            order = np.argsort(steps, kind="stable")  # rows of one step stay in the order of their observation
            steps, values = steps[order], values[order]
        return Series(steps, values, tuple(self._by_identifier[int(identifier)] for identifier in identifiers))


def _as_blocks(observations: Sequence[Observation]) -> list[Block]:
    """One block per run of observations of the same places."""
    return [
        Block(
            np.array([row.step for row in rows], np.int64),
            np.array(places, np.int64),
            np.array([row.values for row in rows], np.float64).reshape(len(rows), len(places)),
        )
        for places, group in groupby(observations, key=lambda observation: observation.places)
        for rows in [list(group)]
    ]
