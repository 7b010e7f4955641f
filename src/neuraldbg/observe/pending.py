"""Numbers that were computed on the device and are read later, all in one copy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from neuraldbg.trace_store.writer import TraceWriter


class Pending:
    """Collects 0-dim tensors and plain numbers of one step; ``write`` reads the tensors in one copy per device."""

    def __init__(self, writer: TraceWriter) -> None:
        self._writer = writer
        self._tensor_keys: list[tuple[str, int]] = []
        self._tensors: list[Tensor] = []
        self._number_keys: list[tuple[str, int]] = []
        self._numbers: list[float] = []

    @property
    def empty(self) -> bool:
        return not self._numbers and not self._tensors

    def add(self, quantity: str, place: int, value: Tensor | float) -> None:
        if isinstance(value, Tensor):
            self._tensor_keys.append((quantity, place))
            self._tensors.append(value)
        else:
            self._number_keys.append((quantity, place))
            self._numbers.append(float(value))

    def write(self, step: int) -> dict[tuple[str, int], float]:
        """Hand everything to the writer as observations of ``step``; returns the numbers by (quantity, place)."""
        keys = self._number_keys + self._tensor_keys
        numbers = self._numbers + read(self._tensors)
        self._tensor_keys, self._tensors, self._number_keys, self._numbers = [], [], [], []
        grouped: dict[str, tuple[list[int], list[float]]] = {}
        found: dict[tuple[str, int], float] = {}
        again: list[tuple[str, int, float]] = []
        for key, number in zip(keys, numbers):
            # A number that is itself NaN would read as "not observed"; the facts say which kind it was.
            number = math.inf if math.isnan(number) else number
            if key in found:
                again.append((*key, number))
                continue
            found[key] = number
            places, values = grouped.setdefault(key[0], ([], []))
            places.append(key[1])
            values.append(number)
        for quantity, (places, values) in grouped.items():
            self._writer.observe(quantity, step, places, values)
        for quantity, place, number in again:
            self._writer.observe(quantity, step, (place,), (number,))
        return found


def read(tensors: list[Tensor]) -> list[float]:
    """The values of 0-dim tensors, with one device-to-host copy per device."""
    if not tensors:
        return []
    devices = {tensor.device for tensor in tensors}
    if len(devices) == 1:
        return [float(x) for x in _stack(tensors).tolist()]
    out = [math.nan] * len(tensors)
    for device in devices:
        where = [i for i, tensor in enumerate(tensors) if tensor.device == device]
        for i, number in zip(where, _stack([tensors[i] for i in where]).tolist()):
            out[i] = float(number)
    return out


def _stack(tensors: list[Tensor]) -> Tensor:
    same = all(tensor.dtype == torch.float32 for tensor in tensors)
    return torch.stack(tensors if same else [tensor.to(torch.float32) for tensor in tensors])
