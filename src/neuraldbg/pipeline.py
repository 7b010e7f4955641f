"""START HERE. What NeuralDBG does, in order: a trace in, a diagnosis out. Needs no torch.

Recording is ``session.py`` (the block) and ``observe/``; they end in a trace file. Everything below starts from it.
"""

from __future__ import annotations

from dataclasses import replace

from neuraldbg.causes import _ranking as ranking
from neuraldbg.causes._findings import ask
from neuraldbg.causes._symptom import name_symptom
from neuraldbg.detectors import detect_events
from neuraldbg.graph.build import CausalGraph, graph_of
from neuraldbg.graph.chains import chain
from neuraldbg.measures.quiet import quiet
from neuraldbg.measures.run import Run
from neuraldbg.records import CausalHypothesis, Diagnosis, SemanticEvent, Trace

#: Hypotheses shown at the most.
_SHOWN = 5
#: Probability from which a cause is named rather than one of several that may be.
_NAMED = 0.5
#: What can be told of a run whose very first loss was refused: nothing else of it was seen.
_REFUSED = "target_out_of_range"


def _card(diagnosis: Diagnosis) -> str:
    """What ``print(diagnosis)`` shows; drawing is imported when it is asked for."""
    from neuraldbg.report.terminal import render

    return render(diagnosis).rstrip("\n")


Diagnosis.draw = _card


@quiet()
def diagnose(trace: Trace) -> Diagnosis:
    """Explain a recorded run."""
    run = Run(trace)
    notes = _observer_notes(trace)
    unjudged = Diagnosis("unseen", _unseen(trace), max(0, trace.steps), notes=notes, meta=trace.meta)
    trained = trace.steps > 0 and bool(run.curves)
    if not trained and not trace.facts("run.exception"):
        return unjudged

    # 2 numbers → events, 3 events → causal graph
    events, detector_notes = detect_events(run)
    graph, graph_notes = graph_of(events, run)

    # 4 questions asked of the run → posterior over causes → ranked hypotheses
    answers, failures = ask(run)
    if not trained and not answers[_REFUSED].present:
        return unjudged
    posterior = ranking.rank(answers)
    symptom = name_symptom(run, answers)
    candidates = ranking.hypotheses(answers, posterior, symptom, events, trace.last_step)
    found = Diagnosis(
        "healthy",
        _healthy(run),
        trace.steps,
        candidates=tuple(candidates),
        events=graph.events,
        links=graph.links,
        findings=tuple(answers.values()),
        notes=(*notes, *detector_notes, *graph_notes, *failures),
        meta=trace.meta,
    )
    if not ranking.failed(posterior):
        return replace(found, harmless=_harmless(events))

    shown = ranking.shown(candidates, _SHOWN)
    named = bool(shown) and shown[0].confidence >= _NAMED
    clear = named and not any(hypothesis.is_close_to(shown[0]) for hypothesis in shown[1:2])
    return replace(
        found,
        outcome="failed" if named else "uncertain",
        summary=symptom.sentence,
        symptom=symptom,
        hypotheses=tuple(_with_chain(h, graph) for h in shown),
        ruled_out=tuple(ranking.ruled_out(answers, posterior)),
        decides="" if clear else ranking.decides(shown),
    )


def _unseen(trace: Trace) -> str:
    ended = trace.facts("run.exception")
    counts = trace.meta.get("counts") or {}
    backwards, steps = int(counts.get("backwards", 0)), int(counts.get("optimizer_steps", 0))
    seen = [_times(backwards, "backward pass", "backward passes"), _times(steps, "optimizer step", "optimizer steps")]
    if not backwards and not steps:
        before = f", which ended with {ended[0].data['type']}: {_line(ended[0].data['message'])}" if ended else ""
        return f"Nothing was trained: no backward pass and no optimizer step were seen in the block{before}."
    return (
        f"The loss is not known, so nothing can be judged: {' and '.join(seen)} were seen, and no backward of a loss "
        "of one number. Hand the loss over in the loop: record_loss(loss)."
    )


def _line(message: object) -> str:
    """The first line of an error's message, shortened, without its full stop."""
    return str(message).partition("\n")[0][:120].rstrip(".")


def _times(count: int, one: str, several: str) -> str:
    return f"{count:,} {one if count == 1 else several}" if count else f"no {one}"


def _observer_notes(trace: Trace) -> tuple[str, ...]:
    """What our own callbacks could not do, or could not see."""
    notes = [f"{fact.data['where']} failed: {fact.data['error']}" for fact in trace.facts("observer.failure")]
    for fact in trace.facts("model.compiled"):
        hidden = ", ".join(f"'{name}'" for name in fact.data["unseen"][:3])
        more = f" and {fact.data['unseen_count'] - 3:,} more" if fact.data["unseen_count"] > 3 else ""
        notes.append(f"layers inside the compiled model were not seen: {hidden}{more}")
    left_out = len(trace.series("optimizer.step_left_out").steps)
    if left_out:
        notes.append(f"{left_out:,} optimizer steps with values that are not finite were left out, as was asked for")
    return tuple(notes)


def _healthy(run: Run) -> str:
    curve = run.loss
    if curve is None or not curve.count:
        return f"Nothing failed in {_times(run.trace.steps, 'step', 'steps')}."
    steps = _times(run.trace.steps, "step", "steps")
    return f"Nothing failed in {steps}: the loss went from {curve.first:.3g} to {curve.end:.3g}."


def _harmless(events: tuple[SemanticEvent, ...]) -> tuple[str, ...]:
    """The few events of a healthy run that a reader may have noticed as well."""
    notable = sorted(events, key=lambda event: -event.confidence)[:3]
    return tuple(str(event.metadata.get("sentence", event)) for event in notable)


def _with_chain(hypothesis: CausalHypothesis, graph: CausalGraph) -> CausalHypothesis:
    """Root → … → symptom; where no event carries the cause, its strongest finding stands at the root."""
    lines = chain(graph, hypothesis.evidence, hypothesis.failure) if hypothesis.evidence else ()
    if not lines:
        root = hypothesis.supporting[0].sentence if hypothesis.supporting else hypothesis.title
        lines = (f"{root}  step {hypothesis.step_range[0]}", hypothesis.failure)
    return replace(hypothesis, causal_chain=tuple(lines))
