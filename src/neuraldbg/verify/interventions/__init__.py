"""Interventions: one file each, each the removal of one thing that a hypothesis can blame.

A file defines

- its docstring, which is its page: what it changes, which causes it removes, what it cannot do;
- ``CAUSES``: the causes that it removes, as named in causes/;
- ``DO``: what it does, as an order, for the table;
- ``STRENGTHS``: factors to try, mildest first; ``(1.0,)`` where there is nothing to choose;
- ``ALSO_CURES``: how often it makes the failure of another cause go away, 0..1: a smaller learning rate hides many
  faults, a sign cures one;
- ``CHANGES_LOSS``: whether the value of the loss itself is another one under it;
- ``install(lever)``: puts it to work through the lever, which undoes it.

The shares in ``ALSO_CURES`` are judgements, set from what each change can reach; bench/verify.py measures them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import ModuleType

from neuraldbg.errors import UsageError
from neuraldbg.registry import find_rules
from neuraldbg.verify._lever import Lever, Target


@cache
def all_interventions() -> dict[str, ModuleType]:
    """Every intervention by name."""
    return find_rules(
        __name__,
        {
            "CAUSES": tuple,
            "DO": str,
            "STRENGTHS": tuple,
            "ALSO_CURES": float,
            "CHANGES_LOSS": bool,
            "install": Callable,  # type: ignore[dict-item]
        },
    )


def get(name: str) -> ModuleType:
    """One intervention.

    Raises:
        UsageError: there is none of this name; the message lists those that exist.
    """
    known = all_interventions()
    if name not in known:
        raise UsageError(f"expected an intervention, found {name!r}; there are {', '.join(known)}")
    return known[name]


def intervene(name: str, target: Target | None = None, strength: float | None = None) -> Lever:
    """The intervention as a context manager: ``with intervene("clip_gradients"): train()``.

    Args:
        name: a file of this folder.
        target: what the hypothesis blames; nothing in particular by default.
        strength: one of the file's ``STRENGTHS``, or another factor; the first one by default.

    Raises:
        UsageError: there is no such intervention.
    """
    rule = get(name)
    return Lever(rule.install, target or Target(), rule.STRENGTHS[0] if strength is None else strength)


def against(cause: str) -> str | None:
    """The intervention that removes a cause: the one that names it first; None where nothing from outside can."""
    found = [(rule.CAUSES.index(cause), name) for name, rule in all_interventions().items() if cause in rule.CAUSES]
    return min(found)[1] if found else None
