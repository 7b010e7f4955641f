"""Gradients are computed and no step is taken with them.

## What it detects
Five and more backward passes without a single optimizer step; steps that the loss scaler skipped for the most part; an
optimizer that holds none of the parameters that get gradients.

## Why it matters
The weights stay as they were initialized.

## Evidence
Counts of backward passes, steps and skipped steps; fact `model.membership`; `optimizer.skipped`.

## When it is wrong
Gradients that are wanted for themselves (saliency, adversarial examples) need no step.

## References
PyTorch documentation, torch.optim, "Taking an optimization step".
"""

from __future__ import annotations

from collections.abc import Iterator

from neuraldbg.detectors._event import saw
from neuraldbg.measures.run import Run
from neuraldbg.measures.subjects import OPTIMIZER
from neuraldbg.records import SemanticEvent

NEEDS = ("optimizer.skipped",)

#: Backward passes: one accumulates over a few, not over all of a run.
BACKWARDS = 5


def detect(run: Run) -> Iterator[SemanticEvent]:
    skipped = int(run.trace.meta.get("counts", {}).get("skipped_steps", 0))
    if run.backwards >= BACKWARDS and run.optimizer_steps == 0:
        yield _event(run, f"{run.backwards} backward passes and not one optimizer step", "no_optimizer_step")
    elif run.optimizer_steps > 10 and skipped > 0.5 * run.optimizer_steps:
        yield _event(
            run, f"{skipped} of {run.optimizer_steps} steps were skipped by the loss scaler", "all_steps_skipped"
        )
    facts = run.trace.facts("model.membership")
    foreign = int(facts[-1].data.get("foreign", 0)) if facts else 0
    if run.optimizer_steps and run.membership and foreign and not any(row[1] for row in run.membership.values()):
        sentence = f"the optimizer steps over {foreign} tensors, none of which belongs to the model"
        yield _event(run, sentence, "optimizer_holds_foreign_parameters_only")


def _event(run: Run, sentence: str, finding: str) -> SemanticEvent:
    return saw(
        "wiring_fault",
        "faulty",
        (0, max(0, run.trace.last_step)),
        sentence,
        subject=OPTIMIZER,
        findings=(finding, "nothing_trains"),
        confidence=0.97,
    )
