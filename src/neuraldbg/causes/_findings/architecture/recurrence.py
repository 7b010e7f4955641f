"""Modules that run many times per step, and their gradient over time."""

from __future__ import annotations

import math

import numpy as np

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.measures.depth import early
from neuraldbg.measures.run import Run, owner_of
from neuraldbg.records import Finding, Series


def _called_often(run: Run, calls: Series) -> list[str]:
    """Modules with parameters that run at least six times per step.

    One activation or dropout that serves all layers runs as often, and over depth, not over time.
    """
    often = [name for name, most in zip(calls.names, calls.largest.tolist()) if most >= 6]
    if not run.elements:
        return often
    return [name for name in often if any(parameter.startswith(f"{name}.") or not name for parameter in run.elements)]


def model_is_recurrent(run: Run) -> Finding:
    """A recurrent module, or a module that is called many times per step."""
    recurrent = [p for p in run.trace.places if p.kind == "module" and p.details.get("kind") == "recurrent"]
    calls = run.series("module.calls")
    name = recurrent[0].name if recurrent else None
    if name is None and calls:
        many = _called_often(run, calls)
        name = many[0] if many else None
    if name is None:
        return absent() if run.series("module.output_std") else unmeasured()
    return present(f"'{name}' is recurrent", layer=name)


def gradient_vanishes_over_time(run: Run) -> Finding:
    """A module called many times per step gets at its first call less than a thousandth of the last call's gradient."""
    first, last = early(run.trace, "module.first_call_gradient_norm"), early(run.trace, "module.output_gradient_norm")
    calls = run.series("module.calls")
    best = (0.0, "")
    for name in _called_often(run, calls):
        if name not in first or last.get(name, 0) <= 0:
            continue
        ratio = math.log10(max(first[name], 1e-30) / last[name])
        best = min(best, (ratio, name))
    if not calls:
        return unmeasured()
    return when(
        best[0] < -3,
        f"at its first call '{best[1]}' gets 1e{best[0]:.0f} of the gradient of its last call",
        layer=best[1],
    )


def recurrent_weights_expand(run: Run) -> Finding:
    """The recurrent matrix of an RNN has grown, or started, well above an orthogonal one's scale."""
    series = run.series("parameter.weight_norm")
    for index, place in enumerate(series.places):
        if "weight_hh" not in place.name:
            continue
        shape = place.details.get("shape", [1, 1])
        gates = max(1, round(shape[0] / max(1, shape[-1])))
        values = series.values[:, index]
        values = values[np.isfinite(values)]
        if values.size:
            scale = float(values.max()) / math.sqrt(gates * shape[-1])
            if scale > 1.6:
                return present(
                    f"the recurrent weights of '{owner_of(place.name)}' reach {scale:.2g} times an orthogonal matrix",
                    layer=owner_of(place.name),
                )
    return absent() if series else unmeasured()
