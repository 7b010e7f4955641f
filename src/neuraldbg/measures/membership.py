"""Which parameters train and are held by an optimizer, over the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from neuraldbg.records import Fact


def last_rows(facts: Sequence[Fact]) -> Mapping[str, list[int]]:
    """Parameter → [requires gradient, held by a stepping optimizer, had a gradient], as last seen.

    A parameter that was switched off and on again trains, though it may be off at the last look: loops with two
    optimizers switch off what the other one holds, for as long as it is not its turn.
    """
    if not facts:
        return {}
    off: set[str] = set()
    toggled: set[str] = set()
    for fact in facts:
        for name, row in fact.data["parameters"].items():
            if not row[0]:
                off.add(name)
            elif name in off:
                toggled.add(name)
    rows: Mapping[str, list[int]] = facts[-1].data["parameters"]
    return {name: [1, *row[1:]] if name in toggled else row for name, row in rows.items()}
