"""What a run is asked for once it was watched."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from neuraldbg.errors import UnknownFailureType, UsageError
from neuraldbg.records import (
    FAILURE_TYPES,
    CausalHypothesis,
    CoupledFailure,
    Diagnosis,
    Explanations,
    SemanticEvent,
)
from neuraldbg.trace_store.reader import read_trace


class Answers(ABC):
    """Questions that a ``NeuralDbg`` answers about its run."""

    #: The trace file; None where nothing was watched.
    path: Path | None

    @abstractmethod
    def diagnosis(self) -> Diagnosis:
        """Everything that can be said about the run so far."""

    def explain_failure(self, failure_type: str | None = None) -> Explanations:
        """Ranked hypotheses of why training failed; empty, and false, when nothing failed.

        Args:
            failure_type: keep only hypotheses of one of FAILURE_TYPES.

        Raises:
            UnknownFailureType: with the list of those that exist.
        """
        if failure_type is not None:
            _check(failure_type)
        diagnosis = self.diagnosis()
        if diagnosis.outcome == "unseen":
            return Explanations((), 0, diagnosis.summary.rstrip("."))
        chosen = diagnosis.hypotheses
        if failure_type is not None:
            chosen = tuple(h for h in chosen if failure_type in h.failure_types)
        note = "Nothing failed" if not diagnosis.hypotheses else f"Nothing of type {failure_type!r} failed"
        return Explanations(chosen, diagnosis.steps, note)

    def get_causal_hypotheses(self) -> tuple[CausalHypothesis, ...]:
        """All hypotheses, also the weak ones, best first."""
        return self.diagnosis().candidates

    def trace_causal_chain(self, failure_type: str | None = None) -> tuple[str, ...]:
        """The chain from root to symptom of the best hypothesis of a failure type, one line each; () when none."""
        explanations = self.explain_failure(failure_type)
        return explanations[0].causal_chain if explanations else ()

    def detect_coupled_failures(self) -> tuple[CoupledFailure, ...]:
        """Pairs of events of which one accounts for the other, with direction, lag and strength."""
        from neuraldbg.graph.build import coupled_failures

        return coupled_failures(self.diagnosis())

    def export_mermaid_causal_graph(self) -> str:
        """The causal graph of the run as a Mermaid flowchart."""
        from neuraldbg.report.mermaid import causal_graph

        return causal_graph(self.diagnosis())

    def plot(self, panel: str = "loss") -> Any:
        """A matplotlib figure of one panel of the report; needs ``neuraldbg[plot]``.

        Args:
            panel: loss, learning_rate, inputs, targets, norms, gradient, gain, dead, saturated, update or depth.

        Raises:
            UsageError: an unknown panel, nothing measured for it, or matplotlib is missing.
        """
        from neuraldbg.report.plot import plot

        diagnosis = self.diagnosis()
        if self.path is None:
            raise UsageError("there is nothing to plot: the block was never entered")
        return plot(diagnosis, read_trace(self.path), panel)

    @property
    def events(self) -> tuple[SemanticEvent, ...]:
        """The semantic events of the run, earliest first."""
        return self.diagnosis().events

    def _repr_html_(self) -> str:
        return self.explain_failure()._repr_html_()


def _check(failure_type: str) -> None:
    if failure_type not in FAILURE_TYPES:
        raise UnknownFailureType(f"failure_type expects one of {', '.join(FAILURE_TYPES)}; found {failure_type!r}")
