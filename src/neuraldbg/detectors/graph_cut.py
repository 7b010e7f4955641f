"""The graph is cut, or a module is never reached.

## What it detects
Modules with trainable parameters that never get a gradient: their forward is never called; or it is called and the
output leads nowhere; or the output, or one behind it, carries no graph although it is used further on.

## Why it matters
Everything below a cut keeps its initial weights while the rest learns to do without it.

## Evidence
Fact `model.membership`; `module.output_requires_grad`, `module.output_gradient_norm`, `module.output_std`.

## When it is wrong
A target network, a frozen encoder under no_grad, a stopped gradient in a self-supervised loss are cut on purpose; their
parameters have requires_grad off or a loss of their own.

## References
PyTorch documentation, Tensor.detach and torch.no_grad.
"""

from __future__ import annotations

from collections.abc import Iterator

from neuraldbg.detectors._event import named, saw
from neuraldbg.measures.run import Run, owner_of
from neuraldbg.measures.wiring import (
    called_modules,
    common_owner,
    cut_outputs,
    last_called,
    parameters_without_gradient,
    share_of_elements,
)
from neuraldbg.records import SemanticEvent

NEEDS = ("module.output_requires_grad", "module.output_gradient_norm", "module.output_std")


def detect(run: Run) -> Iterator[SemanticEvent]:
    lost, called = parameters_without_gradient(run), called_modules(run)
    if not lost or not called:
        return
    reached = [name for name in lost if owner_of(name) in called or _inside_called(owner_of(name), called)]
    unreached = [name for name in lost if name not in reached and owner_of(name)]
    if unreached:
        layer = common_owner(unreached) or owner_of(unreached[0])
        sentence = f"{named(layer)} is never called: {len(unreached)} parameter(s) never get a gradient"
        yield _event(run, sentence, layer, ("parameters_never_reached",), unreached)
    if not reached:
        return
    cut = cut_outputs(run, reached)
    if cut:
        last = last_called(run, cut) or ""
        sentence = (
            f"the output of {named(last)} carries no graph, and {len(reached)} parameter(s) below it get no gradient"
        )
        yield _event(run, sentence, last, ("graph_is_cut", "lost_part_is_the_front"), reached)
        return
    flags, gradients = run.series("module.output_requires_grad"), set(run.series("module.output_gradient_norm").names)
    owners = {owner_of(name) for name in reached}
    dropped = [
        name
        for index, name in enumerate(flags.names)
        if name in owners and flags.first[index] == 1 and name not in gradients
    ]
    if dropped:
        sentence = f"{named(dropped[-1])} is called, and no path leads from its output to the loss"
        yield _event(run, sentence, dropped[-1], ("output_is_dropped", "graph_is_cut"), reached)


def _inside_called(owner: str, called: set[str]) -> bool:
    """Whether a module, short of the root, that holds this one is called: its weights may be used without a call."""
    while "." in owner:
        owner = owner.rpartition(".")[0]
        if owner in called:
            return True
    return False


def _event(run: Run, sentence: str, layer: str, findings: tuple[str, ...], lost: list[str]) -> SemanticEvent:
    return saw(
        "wiring_fault",
        "faulty",
        (0, max(0, run.trace.last_step)),
        sentence,
        layer=layer,
        findings=findings,
        confidence=0.9,
        parameters=len(lost),
        share=share_of_elements(run, lost),
    )
