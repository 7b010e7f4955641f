"""Parameters get gradients and no optimizer holds them.

## What it detects
Parameters with requires_grad and a gradient that belong to no optimizer that steps; modules in plain Python lists,
which parameters() does not yield.

## Why it matters
They keep their initial values while the rest of the model learns around them.

## Evidence
Fact `model.membership`, fact `model.unregistered`; `parameter.gradient_norm`.

## When it is wrong
A part that is trained by hand, or by an optimizer that has not stepped yet. A freeze on purpose has requires_grad off.

## References
PyTorch documentation, torch.optim, "Constructing it"; torch.nn.ModuleList.
"""

from __future__ import annotations

from collections.abc import Iterator

from neuraldbg.detectors._event import named, saw, several
from neuraldbg.measures.run import Run
from neuraldbg.measures.wiring import common_owner, parameters_outside_optimizers, share_of_elements
from neuraldbg.records import SemanticEvent

NEEDS = ("parameter.gradient_norm",)


def detect(run: Run) -> Iterator[SemanticEvent]:
    outside = parameters_outside_optimizers(run)
    last = max(0, run.trace.last_step)
    if outside:
        trained = [name for name, row in run.membership.items() if row[0]]
        verb = "get gradients and are" if len(outside) > 1 else "gets gradients and is"
        yield saw(
            "wiring_fault",
            "faulty",
            (0, last),
            f"{several(outside)} {verb} in no optimizer that steps",
            layer=common_owner(outside),
            parameter=outside[0] if len(outside) == 1 else None,
            findings=("parameters_left_out_of_optimizer",),
            confidence=0.95,
            share=share_of_elements(run, outside, trained),
            parameters=len(outside),
        )
    hidden = [fact for fact in run.trace.facts("model.unregistered") if fact.data.get("parameters")]
    if hidden:
        path = str(hidden[0].data["module"])
        owner = path.split(".")
        while owner and owner[-1].isdigit():
            owner.pop()
        yield saw(
            "wiring_fault",
            "faulty",
            (0, last),
            f"{named(path)} is called and is not registered: parameters() does not yield its weights",
            layer=".".join(owner),
            findings=("module_not_registered",),
            confidence=0.95,
            modules=len(hidden),
        )
