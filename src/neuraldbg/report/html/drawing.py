"""The causal graph as a drawing: layers from cause to symptom, written as SVG that a keyboard can walk."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from neuraldbg.records import Diagnosis, SemanticEvent
from neuraldbg.report.text import clean, number

#: Events that are drawn; those that belong to a hypothesis or a link come first.
MOST_EVENTS = 24
#: Lines of a title in its box; the panel below the drawing has all of it.
MOST_LINES = 5
#: Nodes side by side; a fuller layer goes on below.
ACROSS = 4

QUIET = ' class="quiet"'
_WIDTH, _GAP, _LINE, _PADDING, _LETTERS, _DROP = 232, 24, 16, 12, 29, 56


@dataclass
class Node:
    """A box of the drawing."""

    identifier: str
    #: "cause", "event" or "symptom".
    kind: str
    title: str
    #: Second, quieter text.
    detail: str
    place: str | None = None
    steps: tuple[int, int] | None = None
    numbers: tuple[tuple[str, str], ...] = ()
    lines: list[str] = field(default_factory=list)
    left: float = 0.0
    top: float = 0.0

    @property
    def height(self) -> float:
        return _PADDING * 2 + _LINE * len(self.lines)


@dataclass(frozen=True)
class Arrow:
    """From reason to effect; ``loose`` where it says what belongs together rather than why."""

    source: str
    target: str
    label: str
    loose: bool


@dataclass(frozen=True)
class Drawing:
    """Nodes with their places on the sheet, and the arrows between them."""

    nodes: tuple[Node, ...]
    arrows: tuple[Arrow, ...]
    width: float
    height: float
    #: Events that were left out.
    left_out: int

    def svg(self) -> str:
        """The drawing; every text is escaped, every node is a button."""
        by_name = {node.identifier: node for node in self.nodes}
        parts = [
            f'<svg viewBox="0 0 {self.width:.0f} {self.height:.0f}" width="{self.width:.0f}" '
            f'height="{self.height:.0f}" role="group" aria-label="Causal graph">',
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
            'orient="auto"><path d="M0 0 8 4 0 8z" class="tip"/></marker></defs>',
        ]
        for arrow in self.arrows:
            parts.append(_arrow(by_name[arrow.source], by_name[arrow.target], arrow))
        parts.extend(_box(node) for node in self.nodes)
        return "".join([*parts, "</svg>"])


def draw(diagnosis: Diagnosis) -> Drawing | None:
    """The graph of a diagnosis; None where there is nothing to draw."""
    chosen = _chosen_events(diagnosis)
    nodes = [
        Node(f"h{index}", "cause", clean(h.title or h.cause), f"confidence {h.confidence:.2f}", _place(h), h.step_range)
        for index, h in enumerate(diagnosis.hypotheses)
    ]
    nodes += [_event_node(index, diagnosis.events[index]) for index in chosen]
    if diagnosis.symptom is not None:
        step = diagnosis.symptom.step
        nodes.append(Node("symptom", "symptom", clean(diagnosis.symptom.sentence), "what you see", None, (step, step)))
    if not nodes:
        return None
    arrows = _arrows(diagnosis, chosen)
    width, height = _lay_out(nodes, arrows)
    return Drawing(tuple(nodes), arrows, width, height, len(diagnosis.events) - len(chosen))


def _place(record: object) -> str | None:
    found = getattr(record, "parameter", None) or getattr(record, "layer", None)
    return str(found) if found is not None else None


def _event_node(index: int, event: SemanticEvent) -> Node:
    first, last = event.step_range
    sentence = event.metadata.get("sentence") or f"{event.place}: {event.from_state} → {event.to_state}"
    numbers = tuple(
        (clean(name), number(value))
        for name, value in sorted(event.metadata.items())
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    )
    when = f"step {first:,}" if first == last else f"steps {first:,} to {last:,}"
    return Node(f"e{index}", "event", clean(sentence), when, _place(event), (first, last), numbers)


def _chosen_events(diagnosis: Diagnosis) -> list[int]:
    linked = {index for link in diagnosis.links for index in (link.source, link.target)}
    evident = {i for i, event in enumerate(diagnosis.events) for h in diagnosis.hypotheses if event in h.evidence}
    rank = sorted(range(len(diagnosis.events)), key=lambda i: (i not in evident, i not in linked, i))
    return sorted(rank[:MOST_EVENTS])


def _arrows(diagnosis: Diagnosis, chosen: Sequence[int]) -> tuple[Arrow, ...]:
    shown = set(chosen)
    links = [link for link in diagnosis.links if link.source in shown and link.target in shown]
    arrows = []
    seen: set[tuple[int, int]] = set()
    for link in sorted(links, key=lambda link: -link.strength):
        if (link.source, link.target) not in seen:
            seen.add((link.source, link.target))
            lag = f", {link.lag:,} step{'' if link.lag == 1 else 's'} later" if link.lag else ""
            label = clean(f"{link.reason.replace('_', ' ')}{lag}")
            arrows.append(Arrow(f"e{link.source}", f"e{link.target}", label, False))
    explained, explaining = {target for _, target in seen}, {source for source, _ in seen}
    used = set(explained)
    for index, hypothesis in enumerate(diagnosis.hypotheses):
        own = [position for position in chosen if diagnosis.events[position] in hypothesis.evidence]
        used |= set(own)
        roots = [position for position in own if position not in explained] or own[:1]
        arrows.extend(Arrow(f"h{index}", f"e{position}", "", True) for position in roots)
        if not own and diagnosis.symptom is not None:
            arrows.append(Arrow(f"h{index}", "symptom", "", True))
    if diagnosis.symptom is not None:
        ends = sorted(position for position in used if position not in explaining)
        arrows.extend(Arrow(f"e{position}", "symptom", "", True) for position in ends)
    return tuple(arrows)


def _lay_out(nodes: Sequence[Node], arrows: Sequence[Arrow]) -> tuple[float, float]:
    """Places every node: as deep as the longest way to it, the symptom last. Returns width and height."""
    depth = {node.identifier: 0 for node in nodes}
    for _ in nodes:  # as many rounds as the longest way can be long; a cycle ends there too
        moved = False
        for arrow in arrows:
            if depth[arrow.target] <= depth[arrow.source] and depth[arrow.source] < len(nodes):
                depth[arrow.target] = depth[arrow.source] + 1
                moved = True
        if not moved:
            break
    last = max((depth[node.identifier] for node in nodes if node.kind != "symptom"), default=0)
    rows: dict[int, list[Node]] = {}
    for node in nodes:
        title = textwrap.wrap(node.title, _LETTERS, max_lines=MOST_LINES, placeholder=" …")
        node.lines = [node.kind.capitalize(), *title, *textwrap.wrap(node.detail, _LETTERS)[:1]]
        row = last + 1 if node.kind == "symptom" else depth[node.identifier]
        rows.setdefault(row, []).append(node)
    across = max(min(ACROSS, max(len(row) for row in rows.values())), 1)
    width = across * _WIDTH + (across + 1) * _GAP
    top = float(_GAP)
    for _, layer in sorted(rows.items()):
        for first in range(0, len(layer), ACROSS):
            part = layer[first : first + ACROSS]
            left = (width - len(part) * _WIDTH - (len(part) - 1) * _GAP) / 2
            for position, node in enumerate(part):
                node.left, node.top = left + position * (_WIDTH + _GAP), top
            top += max(node.height for node in part) + (_DROP if first + ACROSS >= len(layer) else _GAP)
    return width, top - _DROP + _GAP


def _arrow(source: Node, target: Node, arrow: Arrow) -> str:
    x1, y1 = source.left + _WIDTH / 2, source.top + source.height
    x2, y2 = target.left + _WIDTH / 2, target.top - 2
    if y2 < y1:  # side by side, or upwards in a layer that goes on below
        y1, y2 = source.top + source.height / 2, target.top + target.height / 2
        x1, x2 = (source.left + _WIDTH, target.left) if source.left < target.left else (source.left, target.left)
    bend = (y2 - y1) / 2
    path = f"M{x1:.0f} {y1:.0f}C{x1:.0f} {y1 + bend:.0f} {x2:.0f} {y2 - bend:.0f} {x2:.0f} {y2:.0f}"
    title = f"<title>{escape(arrow.label)}</title>" if arrow.label else ""
    kind = "arrow loose" if arrow.loose else "arrow"
    return f'<path d="{path}" class="{kind}" marker-end="url(#tip)">{title}</path>'


def _box(node: Node) -> str:
    """A button whose name is the text in it; that begins with its kind, which shape and colour only repeat."""
    radius = {"cause": 18, "event": 3, "symptom": 3}[node.kind]
    quiet = (0, len(node.lines) - 1)
    text = "".join(
        f'<tspan x="{node.left + _PADDING:.0f}" y="{node.top + _PADDING + _LINE * (position + 0.75):.0f}"'
        f"{QUIET if position in quiet else ''}>{escape(line)} </tspan>"
        for position, line in enumerate(node.lines)
    )
    return (
        f'<g class="node {node.kind}" data-node="{node.identifier}" tabindex="0" role="button">'
        f'<rect x="{node.left:.0f}" y="{node.top:.0f}" width="{_WIDTH}" height="{node.height:.0f}" rx="{radius}"/>'
        f"<text>{text}</text></g>"
    )
