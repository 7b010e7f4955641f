"""Numbers that were computed on the device and are read later, all in one copy."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from neuraldbg.observe import kernels

if TYPE_CHECKING:
    from neuraldbg.trace_store.writer import TraceWriter


#: Steps, and tensors, that are held on a device before one copy of all of them is started.
HELD_STEPS = 32
HELD_TENSORS = 512


@dataclass
class Batch:
    """What was measured in one step."""

    step: int
    plain: tuple[list[str], list[int], list[float]]
    quantities: list[str]
    places: list[int]
    tensors: list[Tensor]
    vectors: list[tuple[str, list[int], Tensor]]


def _on_device(tensor: Tensor) -> bool:
    return not tensor.is_cpu


def _start_copy(tensors: list[Tensor], vectors: list[Tensor]) -> tuple[Callable[[], list[float]], Callable[[], bool]]:
    """A copy to the host that runs beside the training: (its numbers, whether it has arrived)."""
    pieces = [*tensors, *vectors]
    if len({piece.device for piece in pieces}) != 1 or pieces[0].device.type != "cuda":
        return (lambda: read(tensors, vectors)), (lambda: True)
    host = _joined(tensors, vectors).to("cpu", non_blocking=True)
    arrived = torch.cuda.Event()
    arrived.record(torch.cuda.current_stream(pieces[0].device))

    def values() -> list[float]:
        arrived.synchronize()
        return host.tolist()  # type: ignore[no-any-return]

    return values, arrived.query


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
        #: Whether there is something to write.
        self.waiting = False
        self._later: list[Batch] = []
        self._held = 0
        self._sent: deque[tuple[list[Batch], list[int], Callable[[], list[float]], Callable[[], bool]]] = deque()
        #: Whether reading a tensor would wait for a device.
        self.waits: Callable[[Tensor], bool] = _on_device
        #: Called with step and value of a loss that turns out, when it is read, not to have been finite.
        self.on_late_loss: Callable[[int, float], None] | None = None

    def add(self, quantity: str, place: int, value: Tensor | float) -> None:
        self.waiting = True
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
        self.waiting = True
        self._vectors.append((quantity, places, values))

    def write(self, step: int) -> None:
        """Hand everything to the writer as observations of ``step``; what lies on a device follows later."""
        self.waiting = False
        tensors, self._tensors = self._tensors, []
        tensor_keys = self._tensor_quantities, self._tensor_places
        self._tensor_quantities, self._tensor_places = [], []
        plain = self._number_quantities, self._number_places, self._numbers
        self._number_quantities, self._number_places, self._numbers = [], [], []
        vectors, self._vectors = self._vectors, []
        batch = Batch(step, plain, *tensor_keys, tensors, vectors)
        if any(self.waits(tensor) for tensor in tensors) or any(self.waits(vector) for _, _, vector in vectors):
            self._later.append(batch)
            self._held += len(tensors) + len(vectors)
            if len(self._later) >= HELD_STEPS or self._held >= HELD_TENSORS:
                self._send()
            self._collect(wait=False)
        else:
            self._hand_over(batch, read(tensors, [vector for _, _, vector in vectors]))

    def flush(self) -> None:
        """Read whatever is still on a device; this waits for it."""
        self._send()
        self._collect(wait=True)

    def _send(self) -> None:
        """Start one copy of everything held, without waiting for it."""
        batches, self._later, self._held = self._later, [], 0
        if batches:
            tensors = [tensor for batch in batches for tensor in batch.tensors]
            vectors = [vector for batch in batches for _, _, vector in batch.vectors]
            counts = [len(batch.tensors) for batch in batches]
            self._sent.append((batches, counts, *_start_copy(tensors, vectors)))

    def _collect(self, wait: bool) -> None:
        """Hand over the copies that have arrived, in order."""
        while self._sent and (wait or self._sent[0][3]()):
            batches, counts, values, _ = self._sent.popleft()
            numbers = values()
            total, start, place = sum(counts), 0, sum(counts)
            for batch, count in zip(batches, counts):
                size = sum(len(places) for _, places, _ in batch.vectors)
                self._hand_over(batch, numbers[start : start + count] + numbers[place : place + size])
                start, place = start + count, place + size
            assert start == total
            self._look_for_bad(batches, numbers)

    def _look_for_bad(self, batches: list[Batch], numbers: list[float]) -> None:
        """A loss that was not finite is known only now."""
        if self.on_late_loss is None:
            return
        position = 0
        for batch in batches:
            for quantity, number in zip(batch.quantities, numbers[position:]):
                if quantity == "loss.value" and not math.isfinite(number):
                    self.on_late_loss(batch.step, number)
            position += len(batch.tensors)

    def _hand_over(self, batch: Batch, numbers: list[float]) -> None:
        grouped: dict[str, dict[int, float]] = {}
        again: list[tuple[str, int, float]] = []
        self._group(grouped, again, *batch.plain)
        self._group(grouped, again, batch.quantities, batch.places, numbers[: len(batch.tensors)])
        start = len(batch.tensors)
        for quantity, places, _ in batch.vectors:
            self._group(grouped, again, repeat(quantity), places, numbers[start : start + len(places)])
            start += len(places)
        for quantity, found in grouped.items():
            self._writer.observe(quantity, batch.step, tuple(found), tuple(found.values()))
        for quantity, place, number in again:
            self._writer.observe(quantity, batch.step, (place,), (number,))

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
    tensor = kernels.local(tensor)
    return tensor if tensor.dtype == torch.float32 else tensor.to(torch.float32)
