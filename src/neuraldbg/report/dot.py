"""The causal graph for Graphviz: cause → events → what the user sees."""

from __future__ import annotations

from neuraldbg.records import Diagnosis
from neuraldbg.report.text import clean


def causal_dot(diagnosis: Diagnosis) -> str:
    """A ``digraph`` with the nodes and arrows of ``mermaid.causal_graph``: ``h0`` …, ``e0`` …, ``symptom``."""
    lines = ["digraph causes {", "    node [shape=box];"]
    for index, hypothesis in enumerate(diagnosis.hypotheses):
        parts = (hypothesis.title or hypothesis.cause, hypothesis.where, f"confidence {hypothesis.confidence:.2f}")
        lines.append(f"    h{index} [label={quoted(*parts)}, style=rounded, penwidth=2];")
    for index, event in enumerate(diagnosis.events):
        first, last = event.step_range
        sentence = event.metadata.get("sentence") or f"{event.place}: {event.from_state} → {event.to_state}"
        when = f"step {first}" if first == last else f"steps {first} to {last}"
        lines.append(f"    e{index} [label={quoted(str(sentence), when)}];")
    if diagnosis.symptom is not None:
        lines.append(f"    symptom [label={quoted(diagnosis.symptom.sentence)}, style=dashed];")
    for link in diagnosis.links:
        lines.append(f"    e{link.source} -> e{link.target} [label={quoted(link.reason)}];")
    explained, explaining = {link.target for link in diagnosis.links}, {link.source for link in diagnosis.links}
    used = set(explained)
    for index, hypothesis in enumerate(diagnosis.hypotheses):
        own = [position for position, event in enumerate(diagnosis.events) if event in hypothesis.evidence]
        used |= set(own)
        for position in [p for p in own if p not in explained] or own[:1]:
            lines.append(f"    h{index} -> e{position} [style=dotted];")
        if not own and diagnosis.symptom is not None:
            lines.append(f"    h{index} -> symptom [style=dotted];")
    if diagnosis.symptom is not None:
        lines += [f"    e{position} -> symptom [style=dotted];" for position in sorted(used - explaining)]
    return "\n".join([*lines, "}", ""])


def quoted(*parts: str) -> str:
    """A label of several lines as Graphviz reads it; nothing in a name ends it or starts markup."""
    words = [clean(part).replace("\\", "\\\\").replace('"', '\\"') for part in parts if part]
    return '"' + "\\n".join(words) + '"'
