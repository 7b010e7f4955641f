"""One run again: with its intervention, its seed, a limit of rounds, and a meter on the loss."""

from __future__ import annotations

import contextlib
import inspect
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from neuraldbg.verify._calls import LOSSES
from neuraldbg.verify._lever import Lever, Target
from neuraldbg.verify._resume import SEED_DISTANCE, CannotResume, Resume
from neuraldbg.verify._rounds import Rounds
from neuraldbg.verify.interventions import intervene

_LIBRARIES = (str(Path(torch.__file__).parent), str(Path(__file__).parent))
#: What an allocator says when there is no memory left.
_MEMORY = ("out of memory", "not enough memory", "can't allocate memory", "cannot allocate memory")


@dataclass(frozen=True)
class Plan:
    """What one run is to be."""

    #: A file of interventions/, or None for a placebo.
    intervention: str | None
    target: Target = field(default_factory=Target)
    strength: float | None = None
    #: 0 for the program's own seeds.
    seed: int = 0
    #: Rounds after which it ends.
    steps: int = 200
    #: Seconds after which it counts as hung.
    limit: float = 300.0
    #: A snapshot to begin at, or "" to begin at the beginning.
    snapshot: str = ""
    #: Whether torch is asked for operations that give the same result each time.
    deterministic: bool = False

    def data(self) -> dict[str, Any]:
        """As JSON-like content."""
        return asdict(self)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Plan:
        """The plan that ``data()`` was made of."""
        return cls(**{**data, "target": Target(**data["target"])})


@dataclass
class Replay:
    """What came of it."""

    #: "finished", "stopped" (at the limit of rounds), "crashed", "hung", "out of memory", "killed".
    outcome: str = "finished"
    #: One line, where it did not go well.
    error: str = ""
    #: Losses by place of their backward: rounds and values; +inf where a value is not finite.
    streams: dict[str, tuple[list[int], list[float]]] = field(default_factory=dict)
    #: Losses by place that torch's functions gave while no gradients were wanted: a validation, mostly.
    held_out: dict[str, tuple[list[int], list[float]]] = field(default_factory=dict)
    #: How often the intervention found something to change, and what.
    acted: int = 0
    changes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    #: Places in the user's code: "optimizer", "backward" → file:line.
    places: dict[str, str] = field(default_factory=dict)

    @property
    def usable(self) -> bool:
        """Whether its losses can be judged."""
        return self.outcome in ("finished", "stopped") and any(values for _, values in self.streams.values())

    def data(self) -> dict[str, Any]:
        """As JSON-like content."""
        return asdict(self)


class Enough(BaseException):
    """Ends a run at its limit of rounds; not an ``Exception``, so that the program does not catch it."""


class Meter:
    """Writes down every loss as the program computes it, before an intervention touches its backward."""

    def __init__(
        self,
        replay: Replay,
        steps: int,
        waiting: Callable[[], bool] = lambda: False,
        unit: Callable[[], float] = lambda: 1.0,
    ) -> None:
        self._replay = replay
        self._steps = steps
        #: What a loss is multiplied with, see ``Lever.unit``.
        self._unit = unit
        #: Whether rounds are being passed over, whose losses are none.
        self._waiting = waiting
        self._rounds = Rounds()
        self._scale = 1.0

    def install(self, lever: Lever) -> None:
        """Put to work through a lever, as interventions are."""
        lever.around_backward(self._backward)
        lever.after_step(lambda optimizer: self._rounds.stepped(id(optimizer)))
        lever.replace(torch.amp.GradScaler, "scale", self._scaled)
        lever.replace(Optimizer, "__init__", self._built)
        for name in LOSSES:
            lever.replace(torch.nn.functional, name, self._validated, elsewhere=False)

    def _validated(self, original: Any) -> Any:
        running = False

        def loss(*arguments: Any, **keywords: Any) -> Any:
            nonlocal running
            if running:
                # Under a torch function mode a function hands itself on by its name, under which this one is found.
                return inspect.unwrap(original)(*arguments, **keywords)
            running = True
            try:
                value = original(*arguments, **keywords)
            finally:
                running = False
            if not torch.is_grad_enabled() and isinstance(value, Tensor) and value.numel() == 1 and not self._waiting():
                place = f"held out, {_place(user_frame())}"
                self._note(self._replay.held_out, place, self._rounds.index, float(value) * self._unit())
            return value

        return loss

    @staticmethod
    def _note(streams: dict[str, tuple[list[int], list[float]]], place: str, step: int, value: float) -> None:
        steps, values = streams.setdefault(place, ([], []))
        steps.append(step)
        values.append(value if abs(value) < float("inf") else float("inf"))

    def _scaled(self, original: Any) -> Any:
        def scale(scaler: Any, outputs: Any) -> Any:
            result = original(scaler, outputs)
            self._scale = float(scaler.get_scale()) if scaler.is_enabled() else 1.0
            return result

        return scale

    def _built(self, original: Any) -> Any:
        def __init__(optimizer: Optimizer, *arguments: Any, **keywords: Any) -> None:
            original(optimizer, *arguments, **keywords)
            self._replay.places.setdefault("optimizer", _place(user_frame(), whole=True))

        return __init__

    def _backward(self, tensors: Any, proceed: Callable[[Any], None]) -> None:
        root = tensors if isinstance(tensors, Tensor) else next(iter(tensors), None)
        if isinstance(root, Tensor) and root.numel() == 1:
            frame = user_frame()
            place = _place(frame)
            step = self._rounds.backward(place)
            if step >= self._steps:
                raise Enough
            if self._waiting():
                proceed(tensors)
                return
            self._replay.places.setdefault("backward", _place(frame, whole=True))
            self._note(self._replay.streams, place, step, float(root.detach()) / self._scale * self._unit())
        proceed(tensors)


def user_frame() -> FrameType | None:
    """The innermost frame outside of torch and of this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_LIBRARIES):
        frame = frame.f_back
    return frame


def _place(frame: FrameType | None, whole: bool = False) -> str:
    """Name of function, file and line: the same in each copy of the program; with the path where it is to be read."""
    if frame is None:
        return "?"
    code = frame.f_code
    if whole:
        return f"{code.co_filename}:{frame.f_lineno}"
    return f"{Path(code.co_filename).name}:{code.co_name}:{frame.f_lineno}"


@contextlib.contextmanager
def shifted_seeds(shift: int) -> Iterator[None]:
    """Every seed that the program sets is another one; a program that sets none starts from another state."""
    if not shift:
        yield
        return
    by = shift * SEED_DISTANCE

    def moved(original: Callable[..., Any]) -> Callable[..., Any]:
        def seed(value: Any = None, *arguments: Any, **keywords: Any) -> Any:
            if isinstance(value, int):
                value = (value + by) % 2**32
            return original(value, *arguments, **keywords)

        return seed

    def install(lever: Lever) -> None:
        lever.replace(torch, "manual_seed", moved)
        lever.replace(torch.random, "manual_seed", moved)
        lever.replace(random, "seed", moved)
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            lever.replace(numpy.random, "seed", moved)
            lever.replace(numpy.random, "default_rng", moved)

    state = torch.get_rng_state(), random.getstate()
    torch.manual_seed((torch.initial_seed() + by) % 2**63)
    random.seed(by)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(by)
    try:
        with Lever(install, Target(), 1.0):
            yield
    finally:
        torch.set_rng_state(state[0])
        random.setstate(state[1])


@contextlib.contextmanager
def _deterministic() -> Iterator[None]:
    """Operations that give the same result each time, where torch has them."""
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])


@contextlib.contextmanager
def at_work(plan: Plan, replay: Replay) -> Iterator[None]:
    """The seeds, the intervention and the meter of a plan, in that order: the meter sees what the program computes."""
    with contextlib.ExitStack() as stack:
        resume = Resume(plan.snapshot, plan.seed) if plan.snapshot else None
        # Up to its snapshot a run is the one that was recorded; another seed goes another way from there.
        stack.enter_context(shifted_seeds(0 if resume else plan.seed))
        if plan.deterministic:
            stack.enter_context(_deterministic())
        lever = None
        if plan.intervention is not None:
            lever = stack.enter_context(intervene(plan.intervention, plan.target, plan.strength))
        if resume is not None:
            stack.enter_context(Lever(resume.install, plan.target, 1.0))
        meter = Meter(
            replay,
            plan.steps,
            waiting=lambda: resume is not None and resume.waiting,
            unit=lambda: 1.0 if lever is None else lever.unit,
        )
        stack.enter_context(Lever(meter.install, plan.target, 1.0))
        try:
            yield
        finally:
            if lever is not None:
                replay.acted, replay.changes = lever.acted, list(lever.changes)


def carry_out(plan: Plan, train: Callable[[], Any]) -> Replay:
    """Train in this process, under the plan; what goes wrong in it is in the result."""
    replay = Replay()
    begin = time.monotonic()
    try:
        with at_work(plan, replay):
            train()
    except Enough:
        replay.outcome = "stopped"
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        note_error(replay, error)
    replay.seconds = time.monotonic() - begin
    return replay


def note_error(replay: Replay, error: BaseException) -> None:
    """Turn what a program raised into an outcome and a line."""
    if isinstance(error, SystemExit) and not error.code:
        return
    if isinstance(error, CannotResume):
        replay.outcome, replay.error = "crashed", f"it could not begin at the snapshot: {error}"
        return
    text = f"{type(error).__name__}: {error}".splitlines()[0][:300]
    memory = isinstance(error, MemoryError) or any(word in str(error).lower() for word in _MEMORY)
    replay.outcome = "out of memory" if memory else "crashed"
    replay.error = text
