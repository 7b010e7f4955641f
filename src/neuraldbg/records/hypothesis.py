"""What explains it: findings, and the causes that they speak for."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from neuraldbg.records.event import SemanticEvent

#: What ``explain_failure(failure_type)`` accepts.
FAILURE_TYPES = (
    "vanishing_gradients",
    "exploding_gradients",
    "dead_neurons",
    "saturated_activations",
    "optimizer_instability",
    "data_anomaly",
)


#: Share of the first hypothesis' confidence from which another one is close to it.
CLOSE = 0.5


@dataclass(frozen=True)
class Finding:
    """A named question asked of the run, and its answer."""

    #: File-wide unique name, ``inputs_out_of_scale`` for instance.
    name: str
    #: True, False, or None where what it needs was not measured.
    present: bool | None
    #: One sentence with the measured numbers, shown to the user when it counts.
    sentence: str = ""
    #: The numbers in the sentence.
    numbers: Mapping[str, float] = field(default_factory=dict)
    #: Module path that it points at, or None.
    layer: str | None = None
    #: Parameter path that it points at, or None.
    parameter: str | None = None
    #: Step at which it starts, or None.
    step: int | None = None
    #: file:line of the user's code, or None.
    source: str | None = None


@dataclass(frozen=True)
class CausalHypothesis:
    """One root cause, with its place, its time and the reasons to believe it."""

    #: A code of the vocabulary, ``redundant_softmax`` for instance.
    cause: str
    #: The symptom that it explains, as a short clause: "the loss stays at 1.61".
    failure: str
    #: ``named_modules()`` path, "" for the root; None where no module is concerned.
    layer: str | None
    #: ``named_parameters()`` path, or None.
    parameter: str | None
    #: First and last step at which the cause acts.
    step_range: tuple[int, int]
    #: Posterior probability, 0..1.
    confidence: float
    #: The events that speak for it, earliest first.
    evidence: tuple[SemanticEvent, ...] = ()
    #: root → … → symptom, one line each.
    causal_chain: tuple[str, ...] = ()
    #: What to do.
    remedy: str = ""
    #: What is wrong, in one line, with a capital letter and no full stop.
    title: str = ""
    #: Why: the sentences of the findings that decided.
    explanation: str = ""
    #: Findings that speak for it, strongest first.
    supporting: tuple[Finding, ...] = ()
    #: Findings that speak against it, strongest first.
    contradicting: tuple[Finding, ...] = ()
    #: file:line of the user's code, or None.
    source: str | None = None
    #: The failure types (FAILURE_TYPES) that it belongs to.
    failure_types: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """The place in words: ``'conv1'``, ``the model``, or an empty string."""
        if self.parameter:
            return f"'{self.parameter}'"
        if self.layer is None:
            return ""
        return f"'{self.layer}'" if self.layer else "the model"

    def is_close_to(self, first: CausalHypothesis) -> bool:
        """Whether it is at least half as probable as the first: a reader wants to know why it is not that one."""
        return self.confidence >= CLOSE * first.confidence

    def __str__(self) -> str:
        place = f" in {self.where}" if self.where else ""
        text = f"{self.title or self.cause}{place} at step {self.step_range[0]}"
        if self.explanation:
            text += f": {self.explanation.rstrip('.')}"
        return f"{text} (confidence {self.confidence:.2f})"

    def _repr_html_(self) -> str:
        """A short block for a notebook; everything that comes from the model is escaped."""
        rows = "".join(f"<li>{html.escape(line)}</li>" for line in self.causal_chain)
        return (
            f"<div><b>{html.escape(self.title or self.cause)}</b> "
            f"<code>{html.escape(self.cause)}</code> {html.escape(self.where)} · step {self.step_range[0]} · "
            f"confidence {self.confidence:.2f}<p>{html.escape(self.explanation)}</p>"
            f"<ol>{rows}</ol><p>{html.escape(self.remedy)}</p></div>"
        )


class Explanations(Sequence[CausalHypothesis]):
    """Ranked hypotheses; empty, and false, when nothing failed."""

    def __init__(self, hypotheses: Sequence[CausalHypothesis], steps: int, note: str = "") -> None:
        self._hypotheses = tuple(hypotheses)
        self.steps = steps
        self.note = note

    @overload
    def __getitem__(self, index: int) -> CausalHypothesis: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[CausalHypothesis, ...]: ...
    def __getitem__(self, index: Any) -> Any:
        count = len(self._hypotheses)
        if isinstance(index, int) and not -count <= index < count:
            if not count:
                raise IndexError(self.empty_message)
            there = "is 1 hypothesis" if count == 1 else f"are {count} hypotheses"
            raise IndexError(f"there {there}, numbered from 0; found index {index}")
        return self._hypotheses[index]

    def __len__(self) -> int:
        return len(self._hypotheses)

    def __iter__(self) -> Iterator[CausalHypothesis]:
        return iter(self._hypotheses)

    def __repr__(self) -> str:
        if not self._hypotheses:
            return f"<{self.empty_message}>"
        named = ", ".join(f"{hypothesis.cause} {hypothesis.confidence:.2f}" for hypothesis in self._hypotheses)
        return f"<Explanations: {named}>"

    def __str__(self) -> str:
        """One numbered sentence per hypothesis, best first."""
        if not self._hypotheses:
            return f"{self.empty_message}."
        return "\n".join(f"{number}. {hypothesis}" for number, hypothesis in enumerate(self._hypotheses, 1))

    @property
    def empty_message(self) -> str:
        """What an empty sequence says."""
        if self.steps == 0:
            return self.note or "Nothing was watched: no step was seen"
        return f"{self.note or 'Nothing failed'} in {self.steps} step{'' if self.steps == 1 else 's'}"

    def _repr_html_(self) -> str:
        if not self._hypotheses:
            return f"<p>{html.escape(self.empty_message)}.</p>"
        return "".join(hypothesis._repr_html_() for hypothesis in self._hypotheses)
