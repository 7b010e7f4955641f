"""The one record that every report reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from neuraldbg.records.event import SemanticEvent
from neuraldbg.records.hypothesis import CausalHypothesis, Finding
from neuraldbg.records.verdict import Verdict, Verification

#: "healthy": nothing failed. "failed": a cause is named. "uncertain": it failed, and two causes explain it equally
#: well. "unseen": nothing could be judged (no step was taken, say).
OUTCOMES = ("healthy", "failed", "uncertain", "unseen")


@dataclass(frozen=True)
class Symptom:
    """What the user sees go wrong."""

    #: loss_non_finite, loss_diverged, loss_spike, loss_plateau, slow, overfit, silent (a fault that shows in no curve).
    kind: str
    #: One sentence: "The loss became NaN at step 418."
    sentence: str
    #: Step at which it starts.
    step: int
    #: The numbers in the sentence.
    numbers: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class CausalLink:
    """One event accounts for another."""

    #: Index into Diagnosis.events of the cause.
    source: int
    #: Index into Diagnosis.events of the effect.
    target: int
    #: Name of the reason, a file of graph/links.
    reason: str
    #: Steps from the one to the other.
    lag: int
    #: 0..1.
    strength: float


@dataclass(frozen=True)
class CoupledFailure:
    """Two events linked by the data flow."""

    source: SemanticEvent
    target: SemanticEvent
    #: "forward", "backward", "update" or "data": the way that the influence took.
    direction: str
    #: Steps between their onsets.
    lag: int
    #: 0..1.
    strength: float


@dataclass(frozen=True)
class Diagnosis:
    """Everything that is said about one run."""

    #: Draws the verdict as plain text; set by what knows how (the report), which the records do not import.
    draw: ClassVar[Callable[[Diagnosis], str] | None] = None

    #: One of OUTCOMES.
    outcome: str
    #: One sentence that can stand alone.
    summary: str
    #: Number of steps seen.
    steps: int
    #: What went wrong, or None.
    symptom: Symptom | None = None
    #: All hypotheses with a posterior worth showing, best first; empty when nothing failed.
    hypotheses: tuple[CausalHypothesis, ...] = ()
    #: Also the weak ones: what ``get_causal_hypotheses()`` returns.
    candidates: tuple[CausalHypothesis, ...] = ()
    #: Events, earliest first.
    events: tuple[SemanticEvent, ...] = ()
    #: Which event accounts for which.
    links: tuple[CausalLink, ...] = ()
    #: Every question asked, with its answer.
    findings: tuple[Finding, ...] = ()
    #: What was ruled out, and why, one line each.
    ruled_out: tuple[str, ...] = ()
    #: Seen on the way and harmless.
    harmless: tuple[str, ...] = ()
    #: What was not measured, or which rule failed.
    notes: tuple[str, ...] = ()
    #: When uncertain, or when the second hypothesis is close to the first: the observation or intervention that would
    #: decide.
    decides: str = ""
    #: Script, versions, sampling.
    meta: Mapping[str, Any] = field(default_factory=dict)
    #: The experiments that were made to test the hypotheses, the newest first.
    verifications: tuple[Verification, ...] = ()

    def __str__(self) -> str:
        """The verdict as ``neuraldbg explain`` prints it, without colours."""
        draw = type(self).draw
        return self.summary if draw is None else draw(self)

    def tested(self, cause: str) -> tuple[Verdict, Verification] | None:
        """What became of a cause in the newest experiment that tried it; None where none did."""
        for verification in self.verifications:
            for verdict in verification.verdicts:
                if verdict.cause == cause:
                    return verdict, verification
        return None
