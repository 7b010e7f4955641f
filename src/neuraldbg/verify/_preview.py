"""The smallest change of the user's code against a confirmed cause: in words, and as lines where the place is known."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from neuraldbg.records.hypothesis import CausalHypothesis
from neuraldbg.records.verdict import Verdict

#: Rewrites one line of source; None where the line does not show what it needs.
Rewrite = Callable[[str, Verdict], str | None]


def preview(verdict: Verdict, hypothesis: CausalHypothesis, places: Mapping[str, str]) -> tuple[str, ...]:
    """What to change: the words, then ``file:line``, ``- before`` and ``+ after`` where known. Edits nothing."""
    words = hypothesis.remedy or (verdict.instead and f"{verdict.instead[0].upper()}{verdict.instead[1:]}.")
    if verdict.intervention is None or verdict.intervention not in _REWRITES:
        return tuple(line for line in (words, hypothesis.source or "") if line)
    place, rewrite = _REWRITES[verdict.intervention]
    for position in (hypothesis.source, places.get(place)):
        for near, line in _lines_near(position, _NEAR.get(verdict.intervention, (0,))):
            after = rewrite(line, verdict)
            if after is None or after == line:
                continue
            indent = line[: len(line) - len(line.lstrip())]
            changed = [f"+ {part.removeprefix(indent).rstrip()}" for part in after.rstrip().split("\n")]
            return tuple(text for text in (words, near, f"- {line.strip()}", *changed) if text)
    return tuple(line for line in (words, hypothesis.source or places.get(place, "")) if line)


def _lines_near(position: str | None, offsets: Iterable[int]) -> Iterator[tuple[str, str]]:
    """(file:line, line) at a position and near it, in the order of the offsets."""
    file, _, number = (position or "").rpartition(":")
    if not number.isdigit():
        return
    for offset in offsets:
        line = source_line(f"{file}:{int(number) + offset}")
        if line:
            yield f"{file}:{int(number) + offset}", line


def source_line(position: str | None) -> str | None:
    """The line at ``file:line``; None where it can't be read."""
    file, _, number = (position or "").rpartition(":")
    if not file or not number.isdigit():
        return None
    try:
        lines = Path(file).read_text("utf-8").splitlines()
    except (OSError, ValueError):
        return None
    return lines[int(number) - 1] if 0 < int(number) <= len(lines) else None


def _scaled(name: str, factor: float | None = None) -> Rewrite:
    """A number given by keyword, multiplied."""

    def rewrite(line: str, verdict: Verdict) -> str | None:
        match = re.search(rf"\b{name}\s*=\s*([0-9][0-9_.]*(?:e[-+]?\d+)?)", line)
        times = factor if factor is not None else verdict.strength
        if match is None or times is None:
            return None
        return line[: match.start(1)] + f"{float(match[1]) * times:g}" + line[match.end(1) :]

    return rewrite


def _set(name: str, value: str) -> Rewrite:
    """A keyword argument given another value."""

    def rewrite(line: str, verdict: Verdict) -> str | None:
        match = re.search(rf"\b{name}\s*=\s*(\([^()]*\)|[^,()]+)", line)
        return None if match is None else line[: match.start(1)] + value + line[match.end(1) :]

    return rewrite


def _line_before(text: str) -> Rewrite:
    return lambda line, verdict: line[: len(line) - len(line.lstrip())] + text + "\n" + line


def _line_after(text: str) -> Rewrite:
    return lambda line, verdict: line + "\n" + line[: len(line) - len(line.lstrip())] + text


def _first_of(*rewrites: Rewrite) -> Rewrite:
    def rewrite(line: str, verdict: Verdict) -> str | None:
        return next((after for one in rewrites if (after := one(line, verdict)) is not None), None)

    return rewrite


def _without_softmax(line: str, verdict: Verdict) -> str | None:
    for pattern in (
        r"(?:torch\.nn\.functional|F|torch)\.(?:softmax|sigmoid)\(([^(),]+(?:\([^()]*\))?)(?:,[^()]*)?\)",
        r"([\w.\[\]]+(?:\([^()]*\))?)\.(?:softmax|sigmoid)\([^()]*\)",
    ):
        if re.search(pattern, line):
            return re.sub(pattern, r"\1", line, count=1)
    match = re.search(r",?\s*(?:torch\.)?nn\.(?:Softmax|Sigmoid)\([^()]*\)", line)
    return None if match is None else line[: match.start()] + line[match.end() :]


def _negated(line: str, verdict: Verdict) -> str | None:
    match = re.match(r"(\s*)([\w.]+)\.backward\(", line)
    return None if match is None else f"{match[1]}(-{match[2]}).backward(" + line[match.end() :]


#: Intervention → which place it concerns, and how its line changes.
_REWRITES: Mapping[str, tuple[str, Rewrite]] = {
    "lower_learning_rate": ("optimizer", _scaled("lr")),
    "raise_learning_rate": ("optimizer", _scaled("lr")),
    "lower_weight_decay": ("optimizer", _scaled("weight_decay", 0.01)),
    "lower_momentum": ("optimizer", _first_of(_set("momentum", "0.9"), _set("betas", "(0.9, 0.999)"))),
    "reset_adam": ("optimizer", _first_of(_set("eps", "1e-8"), _set("betas", "(0.9, 0.999)"))),
    "clear_gradients": ("backward", _line_before("optimizer.zero_grad()")),
    "step_after_backward": ("backward", _line_after("optimizer.step()")),
    "clip_gradients": (
        "backward",
        _line_after("torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"),
    ),
    "train_mode": (
        "backward",
        lambda line, verdict: line.replace(".eval()", ".train()") if ".eval()" in line else None,
    ),
    "drop_redundant_softmax": ("loss", _without_softmax),
    "flip_loss_sign": ("backward", _negated),
    "average_loss": (
        "loss",
        lambda line, verdict: line.replace(".sum()", ".mean()").replace('reduction="sum"', 'reduction="mean"'),
    ),
    "lower_dropout": ("module", _first_of(_set("p", "0.1"), _set("dropout", "0.1"))),
}

#: Where to look besides the line itself: the call of a loss stands below what feeds it, arguments below the call.
_NEAR: Mapping[str, Iterable[int]] = {
    "drop_redundant_softmax": range(0, -13, -1),
    "average_loss": range(0, -6, -1),
    "train_mode": range(0, -13, -1),
    "lower_learning_rate": range(0, 5),
    "raise_learning_rate": range(0, 5),
    "lower_weight_decay": range(0, 5),
    "lower_momentum": range(0, 5),
    "reset_adam": range(0, 5),
}
