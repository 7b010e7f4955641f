"""Numbers that were computed on the device and are read later, all in one copy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from neuraldbg.trace_store.writer import TraceWriter


class Pending:
    """Collects 0-dim tensors and plain numbers of one step; ``write`` reads the tensors in one copy per device."""

    def __init__(self, writer: TraceWriter) -> None:
        self._writer = writer
        # Lists side by side rather than lists of tuples: thousands of small tuples would set off the garbage collector.
        self._tensor_quantities: list[str] = []
        self._tensor_places: list[int] = []
        self._tensors: list[Tensor] = []
        self._number_quantities: list[str] = []
        self._number_places: list[int] = []
        self._numbers: list[float] = []
        self._vectors: list[tuple[str, list[int], Tensor]] = []

    @property
    def empty(self) -> bool:
        return not self._numbers and not self._tensors and not self._vectors

    def add(self, quantity: str, place: int, value: Tensor | float) -> None:
        if isinstance(value, Tensor):
            self._tensor_quantities.append(quantity)
            self._tensor_places.append(place)
            self._tensors.append(value)
        else:
            self._number_quantities.append(quantity)
            self._number_places.append(place)
            self._numbers.append(float(value))

    def add_all(self, quantity: str, places: list[int], values: Tensor) -> None:
        """One number per place, as a vector."""
        self._vectors.append((quantity, places, values))

    def write(self, step: int) -> None:
        """Hand everything to the writer as observations of ``step``."""
        tensors, self._tensors = self._tensors, []
        tensor_keys = self._tensor_quantities, self._tensor_places
        self._tensor_quantities, self._tensor_places = [], []
        plain = self._number_quantities, self._number_places, self._numbers
        self._number_quantities, self._number_places, self._numbers = [], [], []
        vectors, self._vectors = self._vectors, []
        numbers = read(tensors, [vector for _, _, vector in vectors])
        grouped: dict[str, dict[int, float]] = {}
        again: list[tuple[str, int, float]] = []
        self._group(grouped, again, *plain)
        self._group(grouped, again, *tensor_keys, numbers[: len(tensors)])
        start = len(tensors)
        for quantity, places, _ in vectors:
            self._group(grouped, again, repeat(quantity), places, numbers[start : start + len(places)])
            start += len(places)
        for quantity, found in grouped.items():
            self._writer.observe(quantity, step, tuple(found), tuple(found.values()))
        for quantity, place, number in again:
            self._writer.observe(quantity, step, (place,), (number,))

    def _group(
        self,
        grouped: dict[str, dict[int, float]],
        again: list[tuple[str, int, float]],
        quantities: Iterable[str],
        places: list[int],
        numbers: list[float],
    ) -> None:
        for quantity, place, number in zip(quantities, places, numbers):
            # A number that is itself NaN would read as "not observed"; the facts say which kind it was.
            if number != number:
                number = math.inf
            found = grouped.get(quantity)
            if found is None:
                grouped[quantity] = {place: number}
            elif place in found:
                # A second one in the same step, of a loop with several backwards say.
                again.append((quantity, place, number))
            else:
                found[place] = number


def read(tensors: list[Tensor], vectors: Sequence[Tensor] = ()) -> list[float]:
    """The values of 0-dim tensors, then those of vectors, with one device-to-host copy per device."""
    if not tensors and not vectors:
        return []
    pieces = [*tensors, *vectors]
    devices = {tensor.device for tensor in pieces}
    if len(devices) == 1:
        return _joined(tensors, vectors).tolist()  # type: ignore[no-any-return]
    starts = [0]
    for piece in pieces:
        starts.append(starts[-1] + piece.numel())
    out = [math.nan] * starts[-1]
    for device in devices:
        where = [i for i, piece in enumerate(pieces) if piece.device == device]
        numbers = iter(_joined([], [pieces[i].reshape(-1) for i in where]).tolist())
        for i in where:
            for position in range(starts[i], starts[i + 1]):
                out[position] = next(numbers)
    return out


def _joined(tensors: Sequence[Tensor], vectors: Sequence[Tensor]) -> Tensor:
    parts = [_single(vector) for vector in vectors]
    if tensors:
        parts.insert(0, torch.stack([_single(tensor) for tensor in tensors]))
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _single(tensor: Tensor) -> Tensor:
    return tensor if tensor.dtype == torch.float32 else tensor.to(torch.float32)
