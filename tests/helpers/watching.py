"""Runs a loop bare and watched, and reads back what was recorded."""

from __future__ import annotations

import contextlib
import random
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from neuraldbg import NeuralDbg
from neuraldbg.records import Trace
from neuraldbg.trace_store.reader import read_trace


def outcome(loop: Callable[..., Any], block: Callable[..., Any], seed: int = 3) -> list[Any]:
    """What a loop ends with, random states included, as a flat list; a warning on the way is an error."""
    torch.manual_seed(seed)
    np.random.seed(seed)
    random.seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*torch.jit.script.*", category=DeprecationWarning)  # torch.func
        result = loop(block)
    return [*flat([result, np.random.get_state()[1].tolist(), random.getstate()]), torch.get_rng_state()]


def flat(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from flat(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from flat(item)
    else:
        yield value


def same(left: list[Any], right: list[Any]) -> bool:
    """Equal bit for bit; NaN equals NaN of the same bits."""
    return len(left) == len(right) and all(_same(a, b) for a, b in zip(left, right))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor):
        if not isinstance(b, Tensor) or a.dtype != b.dtype or a.shape != b.shape:
            return False
        return bool(torch.equal(_bits(a), _bits(b)))
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b)
    return bool(a == b) or callable(a)


def _bits(value: Tensor) -> Tensor:
    return value.detach().contiguous().reshape(-1).view(torch.uint8)


def bare(model: nn.Module | None = None) -> contextlib.AbstractContextManager[None]:
    return contextlib.nullcontext()


class Watching:
    """A block that keeps its NeuralDbg, so that a test can read the trace afterwards."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self._folder = folder
        self._settings = settings
        self.debuggers: list[NeuralDbg] = []

    def __call__(self, model: nn.Module | None = None) -> NeuralDbg:
        path = self._folder / f"{len(list(self._folder.glob('*.ndbg')))}.ndbg"
        debugger = NeuralDbg(model, path=path, **self._settings)
        self.debuggers.append(debugger)
        return debugger

    @property
    def trace(self) -> Trace:
        path = self.debuggers[-1].path
        assert path is not None
        return read_trace(path)


def failures(trace: Trace) -> list[str]:
    """What went wrong in our own callbacks."""
    return [str(fact.data["trace"]) for fact in trace.facts("observer.failure")]


def watched(folder: Path, loop: Callable[[Callable[..., Any]], Any], *, clean: bool = True, **settings: Any) -> Trace:
    """The trace of a loop; unless told otherwise it holds no failure of ours."""
    block = Watching(folder, **settings)
    torch.manual_seed(0)
    loop(block)
    trace = block.trace
    if clean and failures(trace):
        raise AssertionError("\n".join(failures(trace)))
    return trace
