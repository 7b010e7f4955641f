"""START HERE. What NeuralDBG does, in order: a trace in, a diagnosis out. Needs no torch.

Recording is ``session.py`` (the block) and ``observe/``; they end in a trace file. Everything below starts from it.
"""

from __future__ import annotations

from dataclasses import replace

from neuraldbg.causes import _ranking as ranking
from neuraldbg.causes._findings import ask
from neuraldbg.causes._symptom import name_symptom
from neuraldbg.measures.run import Run
from neuraldbg.records import CausalHypothesis, Diagnosis, Trace


def diagnose(trace: Trace) -> Diagnosis:
    """Explain a recorded run."""
    run = Run(trace)
    notes = [f"{fact.data['where']} failed: {fact.data['error']}" for fact in trace.facts("observer.failure")]
    if trace.steps <= 0 or not run.curves:
        return Diagnosis("unseen", _unseen(trace), max(0, trace.steps), notes=tuple(notes), meta=trace.meta)

    events, detector_notes = _events(run)
    answers, failures = ask(run)
    notes += [*detector_notes, *failures]

    posterior = ranking.rank(answers)
    symptom = name_symptom(run, answers)
    order = ranking.hypotheses(answers, posterior, symptom, events, trace.last_step)
    findings = tuple(answers.values())

    if not ranking.failed(posterior):
        return Diagnosis(
            "healthy",
            _healthy(run),
            trace.steps,
            candidates=tuple(order),
            events=events,
            findings=findings,
            notes=tuple(notes),
            meta=trace.meta,
        )
    shown = [h for h in order if h.confidence >= ranking.SHOWN][:5]
    certain = bool(shown) and shown[0].confidence >= 0.5
    return Diagnosis(
        "failed" if certain else "uncertain",
        symptom.sentence,
        trace.steps,
        symptom=symptom,
        hypotheses=tuple(_with_chain(h, symptom.sentence) for h in shown),
        candidates=tuple(order),
        events=events,
        findings=findings,
        ruled_out=tuple(ranking.ruled_out(answers, posterior)),
        notes=tuple(notes),
        decides="" if certain else ranking.decides(shown),
        meta=trace.meta,
    )


def _events(run: Run):  # type: ignore[no-untyped-def]
    return (), ()


def _with_chain(hypothesis: CausalHypothesis, symptom: str) -> CausalHypothesis:
    return replace(hypothesis, causal_chain=(hypothesis.title, symptom))


def _unseen(trace: Trace) -> str:
    return "Nothing was trained: no backward pass and no optimizer step were seen in the block."


def _healthy(run: Run) -> str:
    curve = run.loss
    if curve is None:
        return "Nothing failed."
    return f"Nothing failed in {run.trace.steps:,} steps: the loss went from {curve.first:.3g} to {curve.end:.3g}."
