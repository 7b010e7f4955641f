"""Statistics of many small outputs at once.

A model of a thousand small modules pays for the number of kernels, not for their size. So a small output is copied (one
kernel; the original may be changed in place by the next module) and all copies of one shape are reduced together before
the backward begins. The quantities are those of ``quantities/activations.py``, to rounding.
"""

from __future__ import annotations

import torch
from torch import Tensor

from neuraldbg.observe import kernels
from neuraldbg.observe.pending import Pending

#: Elements waiting in copies above which a group is reduced at once.
_WAITING = 4_000_000
_Key = tuple[tuple[int, ...], int, torch.device]


class _Group:
    """Copies of one shape, with the places that want numbers about them."""

    def __init__(self) -> None:
        self.copies: list[Tensor] = []
        #: (place, index of the copy)
        self.outputs: list[tuple[int, int]] = []
        self.inputs: list[tuple[int, int]] = []


class Batch:
    """One per session; emptied by ``flush`` at every observed step."""

    def __init__(self, pending: Pending) -> None:
        self._pending = pending
        self._groups: dict[_Key, _Group] = {}
        #: (identity, version) of a tensor → where its copy is.
        self._known: dict[tuple[int, int], tuple[_Key, int]] = {}
        #: Identities are only good while the tensors live.
        self._alive: list[Tensor] = []
        self._waiting = 0

    def takes(self, value: Tensor) -> bool:
        """Whether a tensor is one that is better reduced together with others."""
        return 0 < value.numel() <= kernels.FULL and value.dim() > 0 and not value.is_inference()

    def output(self, place: int, value: Tensor, channel: int) -> None:
        """Numbers about a module's output; ``channel`` is the dimension that counts units."""
        key, index = self._copy(value, channel)
        self._groups[key].outputs.append((place, index))

    def input(self, place: int, value: Tensor) -> None:
        """Numbers about what a module reads: most often the output of another one."""
        found = self._known.get((id(value), value._version))
        key, index = found if found is not None and found[0] in self._groups else self._copy(value, -1)
        self._groups[key].inputs.append((place, index))

    def _copy(self, value: Tensor, channel: int) -> tuple[_Key, int]:
        if self._waiting > _WAITING:
            self.flush()
        key = (tuple(value.shape), channel, value.device)
        group = self._groups.setdefault(key, _Group())
        index = len(group.copies)
        copy = value.detach().to(torch.float32, copy=True, memory_format=torch.contiguous_format)
        group.copies.append(copy)
        self._known[(id(value), value._version)] = (key, index)
        self._alive.append(value)
        self._waiting += value.numel()
        return key, index

    def flush(self) -> None:
        """Reduce everything that waits and hand it to the step in progress."""
        for (shape, channel, _), group in self._groups.items():
            self._reduce(group, shape, channel)
        self._groups.clear()
        self._known.clear()
        self._alive.clear()
        self._waiting = 0

    def _reduce(self, group: _Group, shape: tuple[int, ...], channel: int) -> None:
        block = torch.stack(group.copies)
        values = block.reshape(block.shape[0], -1)
        low, high = torch.aminmax(values, dim=1)
        largest = torch.maximum(high, -low)
        deviation, mean = torch.std_mean(values, dim=1, correction=0)
        self._add(group.inputs, {"module.input_std": deviation, "module.input_absmax": largest})
        if not group.outputs:
            return
        results = {
            "module.output_mean": mean,
            "module.output_std": deviation,
            "module.output_absmax": largest,
            "module.output_zero_share": (values == 0).float().mean(1),
        }
        if len(shape) >= 2 and shape[0] > 1:
            rows = block.reshape(block.shape[0], shape[0], -1)
            centered = rows - rows.mean(1, keepdim=True)
            results["module.output_batch_spread"] = centered.square().mean((1, 2)).sqrt()
            units = block.movedim(channel + 1, -1).reshape(block.shape[0], -1, shape[channel])
            highest = units.amax(1)
            results["module.output_dead_units"] = (highest <= 0).float().mean(1)
            results["module.output_unit_zero"] = ((highest == 0) & (units.amin(1) == 0)).float().mean(1)
        self._add(group.outputs, results)

    def _add(self, wanted: list[tuple[int, int]], results: dict[str, Tensor]) -> None:
        if not wanted:
            return
        places = [place for place, _ in wanted]
        indices = [index for _, index in wanted]
        for quantity, vector in results.items():
            whole = indices == list(range(len(vector)))
            self._pending.add_all(quantity, places, vector if whole else vector[indices])
