"""Which parameters an optimizer holds, and whether anything trains."""

from __future__ import annotations

import numpy as np

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.measures.run import Run
from neuraldbg.measures.wiring import parameters_outside_optimizers, place_of, share_of_elements
from neuraldbg.records import Finding


def parameters_left_out_of_optimizer(run: Run) -> Finding:
    """Parameters that get gradients are held by no optimizer that steps."""
    rows = run.membership
    if not rows or run.optimizer_steps == 0:
        return unmeasured()
    left = parameters_outside_optimizers(run)
    if not left:
        return absent()
    share = share_of_elements(run, left, [name for name, row in rows.items() if row[0]])
    return present(
        f"{len(left)} parameter(s) get gradients and are in no optimizer that steps ({left[0]} …)"
        if len(left) > 1
        else f"{left[0]} gets gradients and is in no optimizer that steps",
        layer=place_of(run, left),
        parameter=left[0] if len(left) == 1 else None,
        share=share,
    )


def optimizer_holds_foreign_parameters_only(run: Run) -> Finding:
    """The optimizer steps over parameters that the trained model does not have."""
    rows = run.membership
    facts = run.trace.facts("model.membership")
    if not rows or run.optimizer_steps == 0:
        return unmeasured()
    held = [name for name, row in rows.items() if row[1]]
    foreign = int(facts[-1].data.get("foreign", 0))
    return when(
        not held and foreign > 0,
        f"the optimizer steps over {foreign} tensors, none of which belongs to the model",
        layer="",
    )


def module_not_registered(run: Run) -> Finding:
    """A module that is called sits in a plain Python container, so that parameters() does not yield its weights."""
    facts = [f for f in run.trace.facts("model.unregistered") if f.data.get("parameters")]
    if not facts:
        return absent() if run.membership else unmeasured()
    path = str(facts[0].data["module"])
    owner = path.split(".")
    while owner and owner[-1].isdigit():
        owner.pop()
    return present(
        f"'{path}' is called and is not registered: parameters() does not yield its weights", layer=".".join(owner)
    )


def nothing_trains(run: Run) -> Finding:
    """No parameter both receives a gradient and is moved by an optimizer."""
    if run.optimizer_steps == 0 or not run.membership:
        return unmeasured()
    series = run.series("parameter.update_norm")
    moved = bool(series) and bool(np.nanmax(series.values, initial=0.0) > 0)
    return when(not moved, "no parameter of the model was ever moved by a step")
