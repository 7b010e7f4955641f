"""The causal graph as a Mermaid flowchart: cause → events → what the user sees."""

from __future__ import annotations

from collections.abc import Sequence

from neuraldbg.records import CausalHypothesis, Diagnosis, SemanticEvent
from neuraldbg.report.text import clean

#: Characters that are written as they are; all others become entities such as ``#34;``, which Mermaid draws.
_PLAIN_PUNCTUATION = frozenset(" .,_-+/·×→%=!?")


def causal_graph(diagnosis: Diagnosis) -> str:
    """A ``flowchart TD``: hypotheses (``h0`` …), events (``e0`` …) and the symptom (``symptom``).

    A solid arrow is a link of the causal graph with its reason; a dotted one says which events a hypothesis is the root
    of, and which event ends in the symptom. All names are escaped.
    """
    lines = ["flowchart TD"]
    for index, hypothesis in enumerate(diagnosis.hypotheses):
        lines.append(f'    h{index}(["{_hypothesis(hypothesis)}"]):::cause')
    for index, event in enumerate(diagnosis.events):
        lines.append(f'    e{index}["{_event(event)}"]')
    if diagnosis.symptom is not None:
        lines.append(f'    symptom{{{{"{escape(diagnosis.symptom.sentence)}"}}}}:::symptom')
    elif not diagnosis.events and not diagnosis.hypotheses:
        lines.append(f'    nothing["{escape(diagnosis.summary)}"]')
    for link in diagnosis.links:
        lag = f", {link.lag} step{'' if link.lag == 1 else 's'} later" if link.lag else ""
        lines.append(f'    e{link.source} -->|"{escape(link.reason)}{lag}"| e{link.target}')
    explained = {link.target for link in diagnosis.links}
    explaining = {link.source for link in diagnosis.links}
    for index, hypothesis in enumerate(diagnosis.hypotheses):
        own = _positions(hypothesis.evidence, diagnosis.events)
        roots = [position for position in own if position not in explained] or own[:1]
        lines.extend(f"    h{index} -.-> e{position}" for position in roots)
        if diagnosis.symptom is not None and not own:
            lines.append(f"    h{index} -.-> symptom")
    if diagnosis.symptom is not None:
        used = sorted({p for h in diagnosis.hypotheses for p in _positions(h.evidence, diagnosis.events)} | explained)
        ends = [position for position in used if position not in explaining]
        lines.extend(f"    e{position} -.-> symptom" for position in ends)
    lines.append("    classDef cause stroke-width:3px")
    lines.append("    classDef symptom stroke-dasharray:4 2")
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """The text as it may stand between double quotes in Mermaid."""
    return "".join(
        character if character.isalnum() or character in _PLAIN_PUNCTUATION else f"#{ord(character)};"
        for character in clean(text)
    )


def _hypothesis(hypothesis: CausalHypothesis) -> str:
    parts = [hypothesis.title or hypothesis.cause, hypothesis.where, f"confidence {hypothesis.confidence:.2f}"]
    return "<br/>".join(escape(part) for part in parts if part)


def _event(event: SemanticEvent) -> str:
    first, last = event.step_range
    steps = f"step {first}" if first == last else f"steps {first} to {last}"
    sentence = event.metadata.get("sentence") or f"{event.place}: {event.from_state} → {event.to_state}"
    return f"{escape(str(sentence))}<br/>{escape(steps)}"


def _positions(evidence: Sequence[SemanticEvent], events: Sequence[SemanticEvent]) -> list[int]:
    return [position for position, event in enumerate(events) if event in evidence]
