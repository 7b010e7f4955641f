"""Snapshots: what a step needs to be carried out again, in a ring on disk that is bounded in bytes.

One is taken right before a forward: weights, gradients, optimizer state, random number generators, and the batch. The
loop pays for copies in memory; a thread writes them. A next one is taken when the copies have cost no more than a
fiftieth of the time since. When the ring is full, the snapshot goes whose neighbours are closest for its age, so that
also an onset that is found late has one before it. Weights that are not finite end the taking: it is too late then.

Each is a safetensors file. Its tensors are named ``weight.O.G.I``, ``gradient.O.G.I`` and ``state.O.G.I.NAME`` (the
O-th optimizer to step, its G-th group, its I-th parameter), ``buffer.M.NAME`` (the M-th module with buffers to be
called), ``input.PATH`` and ``random.NAME``; what is no tensor is JSON under the key ``neuraldbg`` of its metadata.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import random
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules import module as module_hooks
from torch.optim import Optimizer
from torch.optim import optimizer as optimizer_hooks

#: Share of the time that taking snapshots may cost the loop; optimizer steps between two of them; files at most.
SHARE, FEWEST_STEPS, MOST_FILES = 0.02, 10, 64
SUFFIX = ".safetensors"


class NotTaken(Exception):
    """Something that a snapshot would need is of a kind that it can't hold."""


class SnapshotRing:
    """Takes snapshots between ``start`` and ``stop``; never raises into the loop.

    Args:
        folder: where the files go; made when the first is written.
        limit_bytes: size of all files together; one alone may have half of it.
        step: gives the step that a forward belongs to.
    """

    def __init__(self, folder: Path, limit_bytes: int, step: Callable[[], int]) -> None:
        self.folder = folder
        self.limit_bytes = limit_bytes
        #: Why no further ones are taken, or "".
        self.trouble = ""
        self._step = step
        self._optimizers: list[weakref.ref[Optimizer]] = []
        self._buffered: dict[int, weakref.ref[nn.Module]] = {}
        self._steps = self._steps_at_last = 0
        self._due, self._ended = False, False
        self._cost, self._last = 0.0, time.monotonic()
        self._thread = threading.get_ident()
        self._waiting: queue.Queue[tuple[dict[str, Tensor], dict[str, Any]] | None] = queue.Queue(1)
        self._files: list[tuple[int, Path, int]] = []
        self._writer: threading.Thread | None = None
        self._hooks = contextlib.ExitStack()

    def start(self) -> None:
        """Hooks on, writer running."""
        for handle in (
            module_hooks.register_module_forward_pre_hook(self._before_forward),
            optimizer_hooks.register_optimizer_step_post_hook(self._after_step),
        ):
            self._hooks.callback(handle.remove)
        self._writer = threading.Thread(target=self._write_all, name="neuraldbg-snapshots", daemon=True)
        self._writer.start()

    def stop(self) -> None:
        """Hooks off; returns when what was taken is written."""
        self._hooks.close()
        if self._writer is not None:
            self._waiting.put(None)
            self._writer.join()
            self._writer = None

    # in the loop -------------------------------------------------------------------------------------------------

    def _after_step(self, optimizer: Optimizer, *_: Any) -> None:
        if self._ended or threading.get_ident() != self._thread:
            return
        if not any(known() is optimizer for known in self._optimizers):
            self._optimizers.append(weakref.ref(optimizer))
        self._steps += 1
        spent = time.monotonic() - self._last
        long_enough = self._steps - self._steps_at_last >= FEWEST_STEPS and spent * SHARE >= self._cost
        self._due = long_enough and self._waiting.empty()

    def _before_forward(self, module: nn.Module, inputs: Any) -> None:
        if module._buffers and id(module) not in self._buffered:
            self._buffered[id(module)] = weakref.ref(module)
        if not self._due or not torch.is_grad_enabled() or threading.get_ident() != self._thread:
            return
        if not any(parameter.requires_grad for parameter in module.parameters()):
            return  # a loss, or what prepares the batch
        self._due = False
        begin = time.monotonic()
        try:
            with torch.no_grad():
                taken = self._taken(inputs)
            self._waiting.put_nowait(taken)
        except queue.Full:
            return
        except Exception as error:  # the loop goes on, whatever it is
            self.trouble = f"no snapshots were taken: {error}"
            self._ended = True
        self._last = time.monotonic()
        self._cost = self._last - begin
        self._steps_at_last = self._steps

    def _taken(self, inputs: Any) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors: dict[str, Tensor] = {}
        facts: dict[str, Any] = {"step": self._step(), "optimizer_steps": self._steps, "devices": {}, "numbers": {}}

        def keep(key: str, tensor: Tensor) -> None:
            if tensor.layout != torch.strided:
                raise NotTaken(f"{key} is not a dense tensor")
            if hasattr(tensor, "to_local"):
                raise NotTaken(f"{key} is sharded over several processes")
            tensors[key] = tensor.detach().to("cpu", copy=True).contiguous()
            if tensor.device.type != "cpu":
                facts["devices"][key] = str(tensor.device)

        facts["groups"] = []
        for o, known in enumerate(self._optimizers):
            optimizer = known()
            if optimizer is None:
                raise NotTaken("an optimizer is gone")
            facts["groups"].append([_plain(group) for group in optimizer.param_groups])
            for key, parameter in places(o, optimizer):
                keep(f"weight.{key}", parameter)
                if parameter.grad is not None:
                    keep(f"gradient.{key}", parameter.grad)
                for name, value in optimizer.state.get(parameter, {}).items():
                    if isinstance(value, Tensor):
                        keep(f"state.{key}.{name}", value)
                    elif value is None or isinstance(value, (bool, int, float)):
                        facts["numbers"][f"{key}.{name}"] = value
                    else:
                        raise NotTaken(f"{type(optimizer).__name__} keeps a {type(value).__name__} in its state")
        for m, reference in enumerate(self._buffered.values()):
            module = reference()
            for name, buffer in (module._buffers if module is not None else {}).items():
                if buffer is not None:
                    keep(f"buffer.{m}.{name}", buffer)
        for path, tensor in tensors_in(inputs):
            keep(f"input.{path}", tensor)
        keep("random.torch", torch.get_rng_state())
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            for index, state in enumerate(torch.cuda.get_rng_state_all()):
                keep(f"random.cuda.{index}", state)
        facts["random"] = random.getstate()
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            name, keys, *rest = numpy.random.get_state()
            facts["numpy"] = [name, keys.tolist(), *rest]
        size = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
        if size > self.limit_bytes // 2:
            raise NotTaken(
                f"one takes {size / 1e6:.0f} MB, more than half of the {self.limit_bytes / 1e6:.0f} MB allowed; "
                "raise snapshot_bytes"
            )
        return tensors, facts

    # beside it ---------------------------------------------------------------------------------------------------

    def _write_all(self) -> None:
        from safetensors.torch import save_file

        while True:
            taken = self._waiting.get()
            if taken is None:
                return
            tensors, facts = taken
            try:
                if not all(bool(torch.isfinite(v).all()) for k, v in tensors.items() if k.startswith("weight.")):
                    self._ended = True
                    continue
                self.folder.mkdir(parents=True, exist_ok=True)
                path = self.folder / f"step-{facts['step']:09d}{SUFFIX}"
                unfinished = path.with_suffix(".part")
                save_file(tensors, unfinished, metadata={"neuraldbg": json.dumps(facts)})
                os.replace(unfinished, path)
                self._files.append((int(facts["step"]), path, path.stat().st_size))
                self._thin()
            except Exception as error:  # a full disk must not end the training
                self.trouble = f"snapshots could not be written: {error}"
                self._ended = True

    def _thin(self) -> None:
        while len(self._files) > 1 and (
            len(self._files) > MOST_FILES or sum(size for _, _, size in self._files) > self.limit_bytes
        ):
            steps = [step for step, _, _ in self._files]
            before, latest = [0, *steps], steps[-1]
            gaps = [(steps[i + 1] - before[i]) / (latest - steps[i] + 1) for i in range(len(steps) - 1)]
            _, path, _ = self._files.pop(gaps.index(min(gaps)))
            path.unlink(missing_ok=True)


def places(index: int, optimizer: Optimizer) -> Iterator[tuple[str, Tensor]]:
    """Every parameter of an optimizer with its key."""
    for g, group in enumerate(optimizer.param_groups):
        for i, parameter in enumerate(group["params"]):
            yield f"{index}.{g}.{i}", parameter


def tensors_in(value: Any, path: str = "") -> Iterator[tuple[str, Tensor]]:
    """Every tensor inside of tuples, lists and dicts, with the way to it."""
    if isinstance(value, Tensor):
        yield path.lstrip("."), value
    elif isinstance(value, (tuple, list)):
        for index, item in enumerate(value):
            yield from tensors_in(item, f"{path}.{index}")
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from tensors_in(item, f"{path}.{name}")


def _plain(group: dict[str, Any]) -> dict[str, Any]:
    """The settings of a parameter group that JSON can hold; a learning rate in a tensor is a number here."""
    found = {}
    for name, value in group.items():
        if isinstance(value, Tensor) and value.numel() == 1:
            raise NotTaken(f"the setting {name} of an optimizer is a tensor")
        if value is None or isinstance(value, (bool, int, float, str)):
            found[name] = value
        elif isinstance(value, (tuple, list)) and all(isinstance(item, (int, float)) for item in value):
            found[name] = list(value)
    return found
