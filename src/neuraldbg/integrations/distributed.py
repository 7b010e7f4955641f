"""Replicas that should be equal: their checksums are compared every few steps, when it is asked for."""

from __future__ import annotations

import contextlib
import zlib
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
from neuraldbg.observe import kernels
from neuraldbg.session import NeuralDbg

#: Differing tensors that are written down at the most; the first is what counts.
_REPORTED = 10
#: A prime, so that the weights of the second checksum fit no power of two.
_PERIOD = 8191
#: Number of a part that is compared with none.
_NONE = -1


@contextlib.contextmanager
def compare_ranks(
    debugger: NeuralDbg, model: nn.Module, every: int = 50, timeout_seconds: float = 60.0
) -> Iterator[None]:
    """Exchange checksums of parameters and buffers between all ranks, every k optimizer steps.

    The exchange has a process group of its own (gloo), so that it mixes with no collective of the training. When it
    fails, because a rank has died for instance, that is noted in the trace and no further one is made.

    Compared is what should be equal: parameters and buffers that every rank holds, and, of sharded parameters (FSDP2,
    tensor parallelism), the parts that several ranks hold alike, as in hybrid sharding. Parts that one rank alone holds
    can differ from nothing. Left out are buffers of batch norms, for they differ by design, and what lies in a
    FullyShardedDataParallel (FSDP1). Without an initialized process group, or with a single rank, nothing is done.

    Args:
        debugger: the block that is open in this process.
        model: the same on every rank; wrapped or not. Stages of a pipeline are not the same.
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
        alike = list(_alike(self._model))
        names = zlib.crc32("\n".join(name for name, _, _ in alike).encode())
        header = torch.tensor([self._steps, len(alike), names], dtype=torch.float64)
        own = torch.cat([header, *(_sums(tensor, part) for _, tensor, part in alike)])
        gathered = [torch.empty_like(own) for _ in range(torch.distributed.get_world_size(self._group))]
        torch.distributed.all_gather(gathered, own, group=self._group)
        table = torch.stack(gathered)
        if not bool((table[:, :3] == table[0, :3]).all()):
            self._over = True
            columns = zip(("steps", "tensors", "names"), table[:, :3].T.tolist())
            self._note("ranks.out_of_step", dict(columns))
            return
        sums = table[:, 3:].reshape(len(gathered), -1, 3).transpose(0, 1).tolist()
        for (name, _, _), rows in zip(alike, sums):
            odd = _odd_ones([tuple(row) for row in rows])
            if odd and self._reported < _REPORTED:
                self._reported += 1
                self._note("ranks.diverged", {"parameter": name, "ranks": odd, "every": self._every})

    def _note(self, name: str, data: dict[str, Any]) -> None:
        observer = self._debugger._observer
        if observer is not None:
            observer.recorder.fact(name, observer.rounds.step, None, data)


def _alike(model: nn.Module) -> Iterator[tuple[str, Tensor, int]]:
    """Name, own part, and number of the part, of each parameter and buffer that should lie on several ranks alike.

    What is not sharded is the part 0 of every rank. A sharded tensor (DTensor) is told apart by this rank's coordinates
    along those dimensions of its mesh that split it: ranks that agree in these hold copies of one part.
    """
    left_out = {
        id(buffer) for module in model.modules() if isinstance(module, _BatchNorm) for buffer in module.buffers()
    }
    for module in model.modules():
        if type(module).__name__ == "FullyShardedDataParallel":  # its shards are plain tensors that tell nothing
            left_out.update(id(parameter) for parameter in module.parameters())
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        if id(tensor) not in left_out and tensor.numel():
            yield name, kernels.local(tensor), _part(tensor)


def _part(tensor: Tensor) -> int:
    """Which part of a tensor this rank holds: 0 of one that is not sharded, _NONE when it holds none."""
    placements = getattr(tensor, "placements", None)
    if placements is None:
        return 0
    mesh: Any = tensor.device_mesh  # type: ignore[attr-defined]
    here = mesh.get_coordinate()
    if here is None:
        return _NONE
    part = 0
    for dimension, placement in enumerate(placements):
        if not placement.is_replicate():
            part = part * int(mesh.size(dimension)) + int(here[dimension])
    return part


def _sums(tensor: Tensor, part: int) -> Tensor:
    """Number of the part and two checksums, plain and weighted by position, as float64 of shape (3,) on the CPU.

    Equal tensors give equal sums on equal machines; NaN and infinity count as numbers, so that they compare equal.
    """
    values = torch.nan_to_num(tensor.detach().reshape(-1).double(), nan=1.5e30, posinf=2.5e30, neginf=-2.5e30)
    weights = torch.arange(values.numel(), device=values.device).remainder_(_PERIOD).add_(1).double()
    number = torch.tensor([part], dtype=torch.float64)
    return torch.cat([number, torch.stack([values.sum(), values.dot(weights)]).cpu()])


def _odd_ones(rows: list[tuple[float, ...]]) -> list[int]:
    """The ranks whose sums differ from those that are the most frequent for their part.

    Of equally frequent ones those of the lowest rank count.
    """
    odd: list[int] = []
    for part in {row[0] for row in rows} - {_NONE}:
        holders = [rank for rank, row in enumerate(rows) if row[0] == part]
        counts = Counter(rows[rank] for rank in holders)
        usual = max(counts, key=lambda value: (counts[value], value == rows[holders[0]]))
        odd += [rank for rank in holders if rows[rank] != usual]
    return sorted(odd)
