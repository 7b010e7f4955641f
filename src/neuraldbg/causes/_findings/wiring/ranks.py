"""Replicas of the model on several ranks."""

from __future__ import annotations

from neuraldbg.causes._findings._answer import present, unmeasured
from neuraldbg.measures.ranks import difference
from neuraldbg.measures.run import Run, owner_of
from neuraldbg.records import Finding


def replicas_differ(run: Run) -> Finding:
    """Replicas of a parameter or buffer differ between ranks."""
    facts = run.trace.facts("ranks.diverged")
    if not facts:
        return unmeasured()
    fact = facts[0]
    name = str(fact.data.get("parameter", ""))
    words = f"{difference(fact)} since step {fact.step}"
    return present(words, step=fact.step, parameter=name, layer=owner_of(name))
