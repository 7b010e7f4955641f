"""A replay that begins at a snapshot: the rounds before it are passed over, then the state is put in place.

The program runs as it is, so that its data, schedules and counters come along; only the work is left out. Forwards give
what the first of their shape gave (they run, without gradients, where they draw random numbers), backwards do nothing,
and optimizers find no gradients to use. At the snapshot's forward its batch has to be the one that was kept, bit for
bit; then weights, optimizer state and random numbers are put in place and everything runs.

The format of a snapshot is told in observe/snapshots.py.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from neuraldbg.verify._calls import Call, mapped
from neuraldbg.verify._lever import Lever

#: Rounds between a snapshot and the onset, at least; and rounds that a snapshot has to save to be worth it.
_MARGIN, _WORTH = 10, 50
#: Distance between two seeds of one program.
SEED_DISTANCE = 7_919


class CannotResume(BaseException):
    """The replay can't begin there; not an ``Exception``, so that the program does not catch it."""


@dataclass(frozen=True)
class Snapshot:
    """A file of the ring."""

    path: str
    #: Round whose forward it stands before.
    step: int


def read_header(path: Path) -> dict[str, Any]:
    """What a snapshot says of itself, without its tensors.

    Raises:
        ValueError, OSError, KeyError: it is no snapshot.
    """
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 0 < length < 100_000_000:
            raise ValueError("no safetensors file")
        facts = json.loads(json.loads(file.read(length))["__metadata__"]["neuraldbg"])
    if not isinstance(facts, dict):
        raise ValueError("no snapshot of ours")
    return facts


def choose(paths: Sequence[Path], onset: int) -> Snapshot | None:
    """The latest snapshot that lies well before an onset; None where there is none that is worth it."""
    found = []
    for path in paths:
        try:
            step = int(read_header(path)["step"])
        except (OSError, ValueError, KeyError, TypeError):
            continue  # half a file, or another program's
        if _WORTH <= step <= onset - _MARGIN:
            found.append(Snapshot(str(path.resolve()), step))
    return max(found, key=lambda snapshot: snapshot.step, default=None)


class Resume:
    """One replay's way to its snapshot, put to work through a lever.

    Args:
        path: the snapshot.
        seed: 0 goes on with the random numbers that were kept; another number goes on with others.
    """

    def __init__(self, path: str, seed: int) -> None:
        from safetensors.torch import load_file

        try:
            self._facts = read_header(Path(path))
            self._tensors = load_file(path)
        except Exception as error:
            raise CannotResume(f"{path} can't be read: {error}") from error
        self._at = int(self._facts["optimizer_steps"])
        self._seed = seed
        self._steps = 0
        #: Whether the rounds before the snapshot are still being passed over.
        self.waiting = True
        self._optimizers: list[Optimizer] = []
        self._buffered: dict[int, torch.nn.Module] = {}
        self._outputs: dict[Any, Any] = {}

    def install(self, lever: Lever) -> None:
        """Put to work; belongs outside of an intervention and inside of the meter."""
        lever.around_calls(self._call)
        lever.around_backward(lambda tensors, proceed: None if self.waiting else proceed(tensors))
        lever.after_step(self._stepped)

    def _stepped(self, optimizer: Optimizer) -> None:
        if self.waiting:
            if not any(known is optimizer for known in self._optimizers):
                self._optimizers.append(optimizer)
            self._steps += 1

    def _call(self, call: Call) -> Any:
        if not self.waiting:
            return call.proceed()
        module = call.module
        if module._buffers:
            self._buffered.setdefault(id(module), module)
        root = call.is_root and torch.is_grad_enabled()
        if not root or not any(parameter.requires_grad for parameter in module.parameters()):
            return call.proceed()
        if self._steps > self._at:
            raise CannotResume("the program went past the snapshot")
        if self._steps == self._at:
            self._put_in_place(call)
            return call.proceed()
        inputs = (call.arguments, call.keywords)
        key = (id(module), module.training, tuple((p, tuple(t.shape), t.dtype) for p, t in _tensors_in(inputs)))
        if key in self._outputs:
            return mapped(self._outputs[key], (), lambda _, tensor: tensor.clone())
        before = torch.get_rng_state()
        with torch.no_grad():
            output = call.proceed()
        if isinstance(output, (Tensor, tuple, list, dict)) and torch.equal(before, torch.get_rng_state()):
            self._outputs[key] = mapped(output, (), lambda _, tensor: tensor.clone())
        return output

    def _put_in_place(self, call: Call) -> None:
        kept = self._tensors
        given = {f"input.{path}": tensor for path, tensor in _tensors_in(call.arguments)}
        for key in {*given, *(name for name in kept if name.startswith("input."))}:
            if key not in given or key not in kept or not _same(given[key].detach().cpu(), kept[key]):
                raise CannotResume("the batch is not the one that was kept: the program's course is another one")
        self.waiting = False
        with torch.no_grad():
            if len(self._optimizers) != len(self._facts["groups"]):
                raise CannotResume("the optimizers are others")
            for o, (optimizer, groups) in enumerate(zip(self._optimizers, self._facts["groups"])):
                if len(optimizer.param_groups) != len(groups):
                    raise CannotResume("the parameter groups are others")
                for group, settings in zip(optimizer.param_groups, groups):
                    group.update({k: tuple(v) if isinstance(v, list) else v for k, v in settings.items()})
                self._fill(o, optimizer)
            for m, module in enumerate(self._buffered.values()):
                for name, buffer in module._buffers.items():
                    if buffer is not None and f"buffer.{m}.{name}" in kept:
                        _copy(buffer, kept[f"buffer.{m}.{name}"])
        self._draw()
        self._tensors, self._outputs = {}, {}

    def _fill(self, index: int, optimizer: Optimizer) -> None:
        for g, group in enumerate(optimizer.param_groups):
            for i, parameter in enumerate(group["params"]):
                key = f"{index}.{g}.{i}"
                if f"weight.{key}" not in self._tensors:
                    raise CannotResume("the parameters are others")
                _copy(parameter, self._tensors[f"weight.{key}"])
                gradient = self._tensors.get(f"gradient.{key}")
                parameter.grad = None if gradient is None else gradient.to(parameter.device)
                state = {}
                for name, tensor in self._tensors.items():
                    if name.startswith(f"state.{key}."):
                        state[name.removeprefix(f"state.{key}.")] = tensor.to(self._facts["devices"].get(name, "cpu"))
                for name, value in self._facts["numbers"].items():
                    if name.startswith(f"{key}."):
                        state[name.removeprefix(f"{key}.")] = value
                if state:
                    optimizer.state[parameter] = state

    def _draw(self) -> None:
        """The random numbers of what follows."""
        numpy = sys.modules.get("numpy")
        if self._seed:
            seed = torch.initial_seed() + self._seed * SEED_DISTANCE
            torch.manual_seed(seed % 2**63)
            random.seed(seed)
            if numpy is not None:
                numpy.random.seed(seed % 2**32)
            return
        torch.set_rng_state(self._tensors["random.torch"])
        for index in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
            if f"random.cuda.{index}" in self._tensors:
                torch.cuda.set_rng_state(self._tensors[f"random.cuda.{index}"], index)
        version, numbers, following = self._facts["random"]
        random.setstate((version, tuple(numbers), following))
        if numpy is not None and "numpy" in self._facts:
            numpy.random.set_state(tuple(self._facts["numpy"]))


def _tensors_in(value: Any, path: str = "") -> Iterator[tuple[str, Tensor]]:
    if isinstance(value, Tensor):
        yield path.lstrip("."), value
    elif isinstance(value, (tuple, list)):
        for index, item in enumerate(value):
            yield from _tensors_in(item, f"{path}.{index}")
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _tensors_in(item, f"{path}.{name}")


def _same(one: Tensor, other: Tensor) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return bool(((one == other) | ((one != one) & (other != other))).all())


def _copy(tensor: Tensor, kept: Tensor) -> None:
    if tensor.shape != kept.shape:
        raise CannotResume(f"a tensor has shape {tuple(tensor.shape)}, its snapshot {tuple(kept.shape)}")
    tensor.copy_(kept)
