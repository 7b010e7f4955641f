"""The log of a run that was not watched: its losses and learning rates, as a trace."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from neuraldbg.errors import UsageError
from neuraldbg.measures.run import Run
from neuraldbg.pipeline import diagnose
from neuraldbg.records import Diagnosis, Observation, Place, Symptom, Trace

#: Column names by what they mean, the best first; compared without case, folders and punctuation.
LOSSES = ("train_loss", "training_loss", "loss", "train_loss_step", "loss_train", "train_loss_epoch")
VALIDATIONS = ("val_loss", "eval_loss", "valid_loss", "validation_loss", "test_loss", "loss_val", "val_loss_epoch")
RATES = ("lr", "learning_rate", "train_lr", "train_learning_rate", "lr_sgd", "lr_adam", "lr_adamw")
STEPS = ("step", "global_step", "train_global_step", "iteration", "iter", "batch", "epoch")

#: What a log of losses and rates says nothing about.
UNCHECKED = (
    "inputs and targets: NaN, scale, order, imbalance",
    "gradients: vanishing, exploding, cut, not cleared, clipped",
    "weights and updates: initialization, decay, parameters outside of the optimizer, half precision",
    "activations: dead, saturated, collapsed units",
    "the loss itself: a doubled softmax, shapes, sign, reduction",
    "modes of dropout and batch norm, replicas in other processes",
)


@dataclass(frozen=True)
class Columns:
    """Names chosen by the user; None takes the first known one."""

    loss: str | None = None
    validation: str | None = None
    rate: str | None = None


#: Name → (step, value) pairs.
Curves = dict[str, list[tuple[int, float]]]


def read_log(path: Path, columns: Columns | None = None) -> tuple[Trace, dict[str, str]]:
    """The trace that a log amounts to, and which of its columns was taken for what.

    Args:
        path: a CSV file, a JSONL file, the trainer_state.json of the Hugging Face Trainer, or TensorBoard's events.
        columns: names that the user chose.

    Raises:
        UsageError: the file cannot be read, or holds no loss.
    """
    chosen = columns or Columns()
    curves = _curves(path)
    taken = {
        "loss": _find(curves, chosen.loss, LOSSES),
        "validation": _find(curves, chosen.validation, VALIDATIONS),
        "rate": _find(curves, chosen.rate, RATES),
    }
    if taken["loss"] is None:
        names = ", ".join(sorted(curves)[:12]) or "no column of numbers"
        raise UsageError(f"{str(path)!r}: expected a column with a loss, found {names}; name one: --loss NAME")
    places = [
        Place(0, "loss", "loss", {}),
        Place(1, "evaluation", "validation", {"source": None}),
        Place(2, "optimizer", "optimizer", {}),
    ]
    quantities = {
        "loss": ("loss.value", 0),
        "validation": ("evaluation.loss", 1),
        "rate": ("optimizer.learning_rate", 2),
    }
    observations, last = [], 0
    for role, name in taken.items():
        quantity, place = quantities[role]
        for step, value in curves.get(name or "", ()):
            # A series has NaN where nothing was observed; a loss that is no number stands as infinity.
            seen = value if math.isfinite(value) or role != "loss" else math.inf
            observations.append(Observation(quantity, step, (place,), (seen,)))
            last = max(last, step)
    count = len(curves[taken["loss"]])
    meta = {
        "script": path.name,
        "last_step": last,
        "imported": True,
        "counts": {"backwards": count, "optimizer_steps": count, "skipped_steps": 0, "counted_by": "optimizer"},
    }
    return Trace(places, observations, (), meta), {role: name for role, name in taken.items() if name is not None}


def judge_log(trace: Trace) -> Diagnosis:
    """The diagnosis of a log. Nothing is ruled out by it: what a log lacks was not looked at.

    A loss that is no number is a failure even where nothing in the log explains it.
    """
    diagnosis = replace(diagnose(trace), ruled_out=())
    bad = next((curve.first_bad_step for curve in Run(trace).curves), None)
    if bad is None or diagnosis.outcome != "healthy":
        return diagnosis
    sentence = f"The loss is no finite number at step {bad}."
    return replace(
        diagnosis,
        outcome="uncertain",
        summary=sentence,
        symptom=Symptom("loss_non_finite", sentence, bad),
        harmless=(),
        decides="Train again under neuraldbg run: where the first such value is born tells the cause.",
    )


def _find(curves: Curves, wanted: str | None, known: Iterable[str]) -> str | None:
    if wanted is not None:
        if wanted not in curves:
            raise UsageError(f"expected a column {wanted!r}, found {', '.join(sorted(curves)[:12])}")
        return wanted
    plain = {"".join(c if c.isalnum() else "_" for c in name.lower()).strip("_"): name for name in curves}
    return next((plain[name] for name in known if name in plain), None)


def _curves(path: Path) -> Curves:
    if not path.is_file() and not path.is_dir():
        raise UsageError(f"expected a log, found no file {str(path)!r}")
    if path.is_dir() or ".tfevents" in path.name:
        return _tensorboard(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{str(path)!r}: expected CSV, JSON lines or TensorBoard events, found {error}") from error
    return _from_rows(_rows(path, text))


def _rows(path: Path, text: str) -> Iterator[Mapping[str, Any]]:
    if not text.lstrip().startswith("{"):
        yield from csv.DictReader(text.splitlines())
        return
    try:
        whole = json.loads(text)
    except ValueError:
        whole = None
    if isinstance(whole, dict) and isinstance(whole.get("log_history"), list):
        yield from (row for row in whole["log_history"] if isinstance(row, dict))
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                row = json.loads(line)
            except ValueError as error:
                raise UsageError(f"{str(path)!r}, line {number}: expected a JSON object, found {error}") from error
            if isinstance(row, dict):
                yield row


def _from_rows(rows: Iterable[Mapping[str, Any]]) -> Curves:
    curves: Curves = {}
    for index, row in enumerate(rows):
        numbers = {str(name): _number(value) for name, value in row.items() if name is not None}
        step = next((numbers[name] for name in STEPS[:-1] if numbers.get(name) is not None), None)
        at = int(step) if step is not None and math.isfinite(step) else index
        for name, value in numbers.items():
            if value is not None and name not in STEPS:
                curves.setdefault(name, []).append((at, value))
    return curves


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or value is None or value == "":
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _tensorboard(path: Path) -> Curves:
    try:
        from tensorboard.backend.event_processing.event_accumulator import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
            EventAccumulator,
        )
    except ImportError as error:
        raise UsageError(
            f"{str(path)!r}: TensorBoard's events need its package ({error}): pip install tensorboard"
        ) from error
    events = EventAccumulator(str(path), size_guidance={"scalars": 0})
    events.Reload()
    return {name: [(e.step, float(e.value)) for e in events.Scalars(name)] for name in events.Tags()["scalars"]}
