"""What nothing earlier accounts for."""

from __future__ import annotations

from neuraldbg.graph.build import CausalGraph
from neuraldbg.records import SemanticEvent

#: Strength from which a link explains its target: below, two things merely follow each other.
EXPLAINS = 0.3

_NOT_FINITE = frozenset({"non_finite", "nan", "inf", "overflow"})


def roots(graph: CausalGraph) -> tuple[SemanticEvent, ...]:
    """Events that no earlier event upstream accounts for, earliest first."""
    explained = {link.target for link in graph.links if link.strength >= EXPLAINS}
    return tuple(event for index, event in enumerate(graph.events) if index not in explained)


def producers(graph: CausalGraph) -> tuple[SemanticEvent, ...]:
    """Of the events about values that are not finite, those that make such values; the others pass them on.

    A value is passed on where an earlier event about values that are not finite leads to it. What makes it may well be
    the effect of something else: of an explosion, say.
    """
    bad = {index for index, event in enumerate(graph.events) if event.to_state in _NOT_FINITE}
    passed = {link.target for link in graph.links if link.source in bad and link.target in bad}
    return tuple(graph.events[index] for index in sorted(bad - passed))
