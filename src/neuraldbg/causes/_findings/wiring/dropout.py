"""How much dropouts remove."""

from __future__ import annotations

import numpy as np

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.measures.run import Run
from neuraldbg.records import Finding


def dropout_removes_most(run: Run) -> Finding:
    """A dropout in train mode removes at least three quarters of what passes."""
    found: list[tuple[float, str, str | None]] = []
    training = run.series("module.training")
    for place in run.trace.places:
        if (
            place.kind == "module"
            and place.details.get("kind") == "dropout"
            and float(place.details.get("probability", 0)) >= 0.75
        ):
            _, mode = training.column(place.name)
            if mode.size and np.mean(mode) > 0.5:
                found.append((float(place.details["probability"]), place.name, None))
    for fact in run.trace.facts("model.functional_dropout"):
        if fact.data["probability"] >= 0.75:
            found.append((float(fact.data["probability"]), str(fact.data.get("module") or ""), fact.data.get("source")))
    if not found:
        return absent() if run.series("module.output_std") else unmeasured()
    probability, name, source = max(found, key=lambda item: item[0])
    return present(
        f"'{name or 'the model'}' drops {100 * probability:.0f} % of its input",
        layer=name,
        source=source,
        probability=probability,
    )


def dropout_removes_nearly_all(run: Run) -> Finding:
    """A dropout in train mode removes at least 85 %."""
    found = dropout_removes_most(run)
    if found.present is None:
        return unmeasured()
    probability = found.numbers.get("probability", 0.0) if found.present else 0.0
    return when(probability >= 0.85, f"'{found.layer}' drops {100 * probability:.0f} % of its input", layer=found.layer)
