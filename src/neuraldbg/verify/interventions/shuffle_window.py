"""Shuffle the data within a window.

## What it changes
What a ``DataLoader`` gives while gradients are wanted goes through a buffer of 64 batches whose rows are shuffled among
them. The batches keep their sizes. A tensor of data that the loop slices by hand (``x[i : i + 32]``, outside of any
module) is read through a permutation of its rows that is the same for all tensors of that length. Where the first
forward comes without either, the rows that the model and a loss of torch's own are handed are drawn from the batches so
far.

## Which causes it removes
Batches that are ordered by class or by value.

## What it can't do
Batches that are not made of tensors with one row per sample pass as they are, and so does a loss made by hand over
batches that come from neither. A long sequence that is cut into windows
is torn apart, which helps no loss.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from neuraldbg.verify._lever import Lever
from neuraldbg.verify._pairs import Pairs

CAUSES: tuple[str, ...] = ("unshuffled_data",)
DO = "shuffle within a window of 64 batches"
STRENGTHS: tuple[float, ...] = (64.0,)
ALSO_CURES = 0.05
CHANGES_LOSS = False
#: What the cause costs shows on other data; a training loss that does not fall refutes nothing.
SHOWN_IN_LOSS = False


def install(lever: Lever) -> None:
    generator = torch.Generator().manual_seed(20_240_229)

    def make(original):
        def __iter__(loader):
            batches = original(loader)
            if not torch.is_grad_enabled():
                return batches
            return _shuffled(batches, int(lever.strength), generator, lever)

        return __iter__

    orders: dict[int, torch.Tensor] = {}

    def make_item(original):
        def __getitem__(tensor, index):
            first = index[0] if isinstance(index, tuple) and index else index
            if not lever.inside_module and isinstance(first, slice) and _is_batch(tensor, first):
                rows = len(tensor)
                if rows not in orders:
                    orders[rows] = torch.randperm(rows, generator=generator)
                    lever.did(f"slices of {rows} rows shuffled")
                chosen = original(orders[rows], first).to(tensor.device)
                return original(tensor, (chosen, *index[1:]) if isinstance(index, tuple) else chosen)
            return original(tensor, index)

        return __getitem__

    pairs = Pairs(lever, generator)
    lever.around_calls(pairs.around)
    pairs.install()
    lever.replace(DataLoader, "__iter__", make)
    lever.replace(Tensor, "__getitem__", make_item)


def _is_batch(tensor, index):
    """Whether a slice takes a small part of the rows of some data."""
    if tensor.dim() == 0 or tensor.requires_grad or index.step not in (None, 1):
        return False
    rows = len(tensor)
    start, stop, _ = index.indices(rows)
    return 0 < stop - start <= rows / 4 and rows >= 16


def _shuffled(batches, window, generator, lever):
    held = []
    for batch in batches:
        held.append(batch)
        if len(held) == window:
            yield from _mixed(held, generator, lever)
            held = []
    if held:
        yield from _mixed(held, generator, lever)


def _tensors(batch):
    if isinstance(batch, Tensor):
        return [batch]
    if isinstance(batch, (tuple, list)) and batch and all(isinstance(part, Tensor) for part in batch):
        return list(batch)
    if isinstance(batch, dict) and batch and all(isinstance(part, Tensor) for part in batch.values()):
        return list(batch.values())
    return None


def _mixed(held, generator, lever):
    """The rows of some batches, shuffled among them."""
    columns = [_tensors(batch) for batch in held]
    if len(held) < 2 or any(c is None or any(p.dim() == 0 or len(p) != len(c[0]) for p in c) for c in columns):
        yield from held
        return
    if len({tuple(part.shape[1:] for part in column) for column in columns}) != 1:
        yield from held
        return
    joined = [torch.cat(parts) for parts in zip(*columns)]
    order = torch.randperm(len(joined[0]), generator=generator)
    lever.did(f"rows of {len(held)} batches shuffled")
    position = 0
    for batch, column in zip(held, columns):
        rows = order[position : position + len(column[0])]
        position += len(column[0])
        parts = [part[rows.to(part.device)] for part in joined]
        if isinstance(batch, Tensor):
            yield parts[0]
        elif isinstance(batch, dict):
            yield dict(zip(batch, parts))
        elif type(batch) in (tuple, list):
            yield type(batch)(parts)
        else:
            yield type(batch)(*parts)
