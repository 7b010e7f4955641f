"""Replicas that should be equal: their checksums are compared every few steps, when it is asked for."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import torch
import torch.distributed
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim import optimizer as optimizer_hooks

from neuraldbg.errors import UsageError
from neuraldbg.session import NeuralDbg

#: Differing tensors that are written down at the most; the first is what counts.
_REPORTED = 10
#: A prime, so that the weights of the second checksum fit no power of two.
_PERIOD = 8191


@contextlib.contextmanager
def compare_ranks(
    debugger: NeuralDbg, model: nn.Module, every: int = 50, timeout_seconds: float = 60.0
) -> Iterator[None]:
    """Exchange checksums of parameters and buffers between all ranks, every k optimizer steps.

    The exchange has a process group of its own (gloo), so that it mixes with no collective of the training. When it
    fails, because a rank has died for instance, that is noted in the trace and no further one is made. Buffers of batch
    norms are left out, for they differ by design, and so are sharded parameters. Without an initialized process group,
    or with a single rank, nothing is done.

    Args:
        debugger: the block that is open in this process.
        model: the same on every rank; wrapped or not.
        every: optimizer steps between two exchanges.
        timeout_seconds: how long one waits for the other ranks.

    Raises:
        UsageError: ``every`` is no positive number.
    """
    if every < 1:
        raise UsageError(f"compare_ranks expects every to be at least 1, found {every!r}; 50 costs next to nothing")
    distributed = torch.distributed
    if not distributed.is_available() or not distributed.is_initialized() or distributed.get_world_size() < 2:
        yield
        return
    group = distributed.new_group(backend="gloo", timeout=timedelta(seconds=timeout_seconds))
    exchange = _Exchange(debugger, model, every, group)
    handle = optimizer_hooks.register_optimizer_step_post_hook(exchange.stepped)
    try:
        yield
    finally:
        handle.remove()
        with contextlib.suppress(Exception):
            distributed.destroy_process_group(group)


class _Exchange:
    """Counts the steps of one optimizer and compares at every k-th."""

    def __init__(self, debugger: NeuralDbg, model: nn.Module, every: int, group: Any) -> None:
        self._debugger = debugger
        self._model = model
        self._every = every
        self._group = group
        self._optimizer: int | None = None
        self._steps = 0
        self._over = False
        self._reported = 0

    def stepped(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        """After each optimizer step; never raises into the loop."""
        if self._optimizer is None:
            self._optimizer = id(optimizer)
        if self._over or self._optimizer != id(optimizer):
            return
        self._steps += 1
        if self._steps % self._every:
            return
        try:
            self._compare()
        except Exception as error:
            self._over = True
            self._note("ranks.exchange_failed", {"error": f"{type(error).__name__}: {error}"[:500]})

    def _compare(self) -> None:
        named = list(_replicated(self._model))
        own = torch.cat([torch.tensor([self._steps, len(named)], dtype=torch.float64), *(_sums(t) for _, t in named)])
        gathered = [torch.empty_like(own) for _ in range(torch.distributed.get_world_size(self._group))]
        torch.distributed.all_gather(gathered, own, group=self._group)
        table = torch.stack(gathered)
        if not bool((table[:, :2] == table[0, :2]).all()):
            self._over = True
            self._note("ranks.out_of_step", {"steps": table[:, 0].tolist(), "tensors": table[:, 1].tolist()})
            return
        sums = [tuple(row) for row in table[:, 2:].reshape(len(gathered), -1, 2).transpose(0, 1).tolist()]
        for (name, _), rows in zip(named, sums):
            odd = _odd_ones([tuple(row) for row in rows])
            if odd and self._reported < _REPORTED:
                self._reported += 1
                self._note("ranks.diverged", {"parameter": name, "ranks": odd, "every": self._every})

    def _note(self, name: str, data: dict[str, Any]) -> None:
        observer = self._debugger._observer
        if observer is not None:
            observer.recorder.fact(name, observer.rounds.step, None, data)


def _replicated(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Parameters and buffers that every rank holds alike."""
    statistics = {
        id(buffer) for module in model.modules() if isinstance(module, _BatchNorm) for buffer in module.buffers()
    }
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        sharded = any(not placement.is_replicate() for placement in getattr(tensor, "placements", ()))
        if id(tensor) not in statistics and not sharded and tensor.numel():
            yield name, tensor


def _sums(tensor: Tensor) -> Tensor:
    """Two checksums, plain and weighted by position, as float64 of shape (2,) on the CPU.

    Equal tensors give equal sums on equal machines; NaN and infinity count as numbers, so that they compare equal.
    """
    local = tensor.detach()
    if hasattr(local, "to_local"):
        local = local.to_local()
    values = torch.nan_to_num(local.reshape(-1).double(), nan=1.5e30, posinf=2.5e30, neginf=-2.5e30)
    weights = torch.arange(values.numel(), device=values.device).remainder_(_PERIOD).add_(1).double()
    return torch.stack([values.sum(), values.dot(weights)]).cpu()


def _odd_ones(rows: list[tuple[float, ...]]) -> list[int]:
    """The ranks that differ from the most frequent value; of equally frequent ones rank 0's counts."""
    counts = Counter(rows)
    usual = max(counts, key=lambda value: (counts[value], value == rows[0]))
    return [rank for rank, value in enumerate(rows) if value != usual]
