"""NeuralDbg: the context manager around a training loop."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from torch import nn

from neuraldbg.answers import Answers
from neuraldbg.errors import NestedSessionError, TraceError, TrainingFailure, UsageError
from neuraldbg.observe.environment import described, environment
from neuraldbg.observe.observer import Observer
from neuraldbg.observe.recorder import Recorder
from neuraldbg.observe.schedule import Schedule
from neuraldbg.observe.snapshots import SUFFIX, SnapshotRing
from neuraldbg.observe.watched import Watched, parameter_details
from neuraldbg.pipeline import diagnose
from neuraldbg.records import Diagnosis, Verification
from neuraldbg.trace_store.location import new_trace_path, set_aside
from neuraldbg.trace_store.reader import read_trace, write_diagnosis, write_verification
from neuraldbg.trace_store.writer import TraceWriter

_open = threading.local()


class NeuralDbg(Answers):
    """Watches the training loop inside its block, and explains afterwards why it failed.

    Args:
        model: the model to watch; None watches whatever modules are called and trained in the block.
        path: where the trace goes; by default a new file in ``.neuraldbg/`` of the working folder. A trace that is
            there already is set aside: ``run.ndbg`` becomes ``run.1.ndbg``.
        allowance: seconds of observing that are free, so that a short run is seen at every step.
        budget: share of the run's time that observing may take after that.
        preset: ``light`` (budget 0.01, allowance 0.2), ``standard``, or ``every_step``.
        on_non_finite: what to do at a non-finite loss or gradient: ``record`` changes nothing; ``raise`` stops in that
            step, before the optimizer, with the verdict as the message; ``skip`` leaves weights and optimizer as they
            are
            for that step and says so in the trace. The last two read all gradients at every step.
        limit_bytes: size of the trace file above which old detail is thinned.
        snapshots: keep a ring of snapshots (weights, optimizer, random numbers, batch) beside the trace, so that
            ``verify`` can begin shortly before the failure. Needs safetensors: ``pip install 'neuraldbg[snapshots]'``.
        snapshot_bytes: size of the ring on disk.
        script: name of the program, for the trace; ``sys.argv[0]`` by default.
        gives_way: stop watching while another block is open inside this one, instead of refusing it; for a launcher
            around a script that may have a block of its own. ``gave_way_to`` is that block.

    Raises:
        NestedSessionError: on entering, when another block is open in this thread.
        UsageError: for an argument that cannot be used.
    """

    def __init__(
        self,
        model: nn.Module | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
        allowance: float = 1.0,
        budget: float = 0.03,
        preset: Literal["light", "standard", "every_step"] = "standard",
        on_non_finite: Literal["record", "raise", "skip"] = "record",
        limit_bytes: int = 200_000_000,
        snapshots: bool = False,
        snapshot_bytes: int = 1_000_000_000,
        script: str | None = None,
        gives_way: bool = False,
    ) -> None:
        if model is not None and not isinstance(model, nn.Module):
            raise UsageError(
                f"NeuralDbg expects a torch.nn.Module or nothing, found {type(model).__name__}; "
                "pass the model, or call NeuralDbg() to watch every model that is trained in the block"
            )
        if preset not in ("light", "standard", "every_step"):
            raise UsageError(f"preset expects light, standard or every_step, found {preset!r}")
        if on_non_finite not in ("record", "raise", "skip"):
            raise UsageError(f"on_non_finite expects record, raise or skip, found {on_non_finite!r}")
        for name, value in (("allowance", allowance), ("budget", budget)):
            if not isinstance(value, (int, float)) or not value >= 0:
                unit = "seconds" if name == "allowance" else "a share of the run's time"
                raise UsageError(f"{name} expects {unit}, zero or more, found {value!r}")
        if preset == "light":
            allowance, budget = min(allowance, 0.2), min(budget, 0.01)
        self._model = model
        self._given_path = path
        self._schedule_settings = (float(allowance), float(budget), preset == "every_step")
        self._on_non_finite = on_non_finite
        self._limit_bytes = limit_bytes
        if snapshots and find_spec("safetensors") is None:
            raise UsageError(
                "snapshots expects the package safetensors, found none; pip install 'neuraldbg[snapshots]'"
            )
        self._snapshot_bytes = snapshot_bytes if snapshots else 0
        self._ring: SnapshotRing | None = None
        self._script = script or (sys.argv[0] if sys.argv and sys.argv[0] else None)
        self._gives_way = gives_way
        self._outer: NeuralDbg | None = None
        #: The last block that was open inside this one, see ``gives_way``.
        self.gave_way_to: NeuralDbg | None = None
        self._observer: Observer | None = None
        self._writer: TraceWriter | None = None
        self._diagnosis: Diagnosis | None = None
        self._open = False
        #: The trace file; None before the block was entered.
        self.path: Path | None = None

    # the block ---------------------------------------------------------------------------------------------------

    def __enter__(self) -> NeuralDbg:
        outer: NeuralDbg | None = getattr(_open, "session", None)
        if outer is not None and not (outer._gives_way and outer is not self):
            raise NestedSessionError(
                "NeuralDbg expects one block at a time, and another one is open around this one; "
                "leave it first, or watch both models with a single NeuralDbg()"
            )
        self.path = self._path_of_this_run()
        self._diagnosis = None
        allowance, budget, every_step = self._schedule_settings
        self._writer = TraceWriter(self.path, environment(self._script), self._limit_bytes)
        self._outer = outer
        self._open = True
        try:
            if outer is not None and outer._observer is not None:
                outer._observer.pause()
                outer.gave_way_to = self
            _open.session = self
            recorder = Recorder(self._writer)
            watched = Watched()
            self._observer = Observer(
                recorder,
                Schedule(allowance, budget, every_step),
                watched,
                discover=self._model is None,
                policy=self._on_non_finite,
            )
            if self._model is not None:
                watched.add_root(self._model)
                _describe_parameters(recorder, watched)
            if self._on_non_finite == "raise":
                self._observer.alarms.on_raise = self._stop_training
            self._observer.start()
            if self._snapshot_bytes:
                observer = self._observer
                self._ring = SnapshotRing(
                    self.path.with_suffix(".snapshots"), self._snapshot_bytes, lambda: observer.rounds.forward_step
                )
                self._ring.start()
        except BaseException:
            self._close()
            raise
        return self

    def _path_of_this_run(self) -> Path:
        if self._given_path is None:
            return new_trace_path(self._script)
        path = Path(self._given_path)
        old = set_aside(path)
        if old is not None:
            print(f"neuraldbg: {path} held the trace of an earlier run, which is {old} now", file=sys.stderr)
        return path

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        if error is not None and self._observer is not None and not isinstance(error, TrainingFailure):
            self._observer.recorder.fact("run.exception", self._observer.rounds.step, None, described(error))
        self._close()
        return False

    def _stop_training(self, what: str, step: int) -> None:
        """A loss or a gradient is not finite, and the user wants to know before the weights are poisoned.

        Raises:
            TrainingFailure: with the verdict.
        """
        explanations = self.explain_failure()
        why = str(explanations[0]) if explanations else self.diagnosis().summary
        where = f"the {what} is not finite at step {step}"
        raise TrainingFailure(f"{where}, and the weights are as they were before it. {why}")

    def _close(self) -> None:
        if not self._open:
            return
        self._open = False
        outer, self._outer = self._outer, None
        _open.session = outer
        try:
            if self._ring is not None:
                self._ring.stop()
            if self._observer is not None:
                self._observer.stop()
        finally:
            if self._writer is not None:
                self._writer.close()
            if outer is not None and outer._open and outer._observer is not None:
                outer._observer.resume()

    @property
    def snapshots(self) -> tuple[Path, ...]:
        """The snapshots beside the trace, oldest first; () where none were wanted or taken."""
        folder = self.path.with_suffix(".snapshots") if self.path is not None else None
        return tuple(sorted(folder.glob(f"*{SUFFIX}"))) if folder is not None and folder.is_dir() else ()

    def record_loss(self, loss: Any) -> None:
        """Hand over a loss that no backward shows: of a gradient-free method, or of validation (under no_grad).

        Args:
            loss: one number, as a tensor of one element or a float.
        """
        if self._observer is not None and self._open:
            self._observer.record_loss(loss)

    # the answer --------------------------------------------------------------------------------------------------

    def diagnosis(self) -> Diagnosis:
        """Everything that can be said about the run so far. Kept once the block is left."""
        if self._diagnosis is not None:
            return self._diagnosis
        if self._writer is None or self.path is None:
            return Diagnosis("unseen", "Nothing was watched: the block was never entered.", 0)
        if self._writer.failure is not None:
            return self._unrecorded(self._writer.failure)
        if self._open:
            if self._observer is not None:
                self._observer.note_progress()
            self._writer.flush()
        try:
            found = diagnose(read_trace(self.path))
            if not self._open:
                self._diagnosis = found
                write_diagnosis(self.path, found)
        except (TraceError, OSError) as error:
            if self._diagnosis is not None:
                return self._diagnosis  # only keeping it in the file has failed
            return self._unrecorded(self._writer.failure or str(error))
        return found

    def _unrecorded(self, reason: str) -> Diagnosis:
        summary = f"Nothing can be said about this run: its trace could not be recorded or read ({reason})."
        return Diagnosis("unseen", summary, 0, notes=(reason,))

    def verify(self, train: Callable[[], Any], **options: Any) -> Verification:
        """Put the hypotheses to the test: train again without what each blames, beside runs without a change.

        Args:
            train: builds the model and trains it, without arguments; called once per run, in a process of its own.
            options: as of ``neuraldbg.verify``.

        Raises:
            UsageError: the block is still open, or an argument cannot be used.
        """
        from neuraldbg.verify import verify

        if self._open:
            raise UsageError("verify expects a block that was left, found it open; call it after the with statement")
        options.setdefault("snapshots", self.snapshots)
        result = verify(train, self.diagnosis(), **options)
        if result.verdicts and self.path is not None:
            # Kept with the trace, for the report; a trace that cannot be written is left as it is.
            with suppress(TraceError, OSError):
                write_verification(self.path, result)
            self._diagnosis = replace(self.diagnosis(), verifications=(result, *self.diagnosis().verifications))
        return result

    def __repr__(self) -> str:
        state = "open" if self._open else "closed" if self._writer is not None else "not entered"
        return f"<NeuralDbg {state}, trace {self.path}>"


def _describe_parameters(recorder: Recorder, watched: Watched) -> None:
    for name, parameter in watched.parameters():
        try:
            recorder.place("parameter", name, parameter_details(parameter))
        except Exception as error:
            recorder.failed("parameters", error)
