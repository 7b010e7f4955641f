"""Parameters have requires_grad off.

## What it detects
Weights with requires_grad off: the layer that makes the prediction, more than half of the model, or a part of a module
whose other parameters train.

## Why it matters
A frozen parameter does not learn. A head that is frozen by mistake leaves a model that cannot fit.

## Evidence
Fact `model.membership`.

## When it is wrong
A pretrained backbone under a new head is frozen on purpose, and the run learns; then nothing is raised.

## References
PyTorch documentation, Autograd mechanics, "Locally disabling gradient computation".
"""

from __future__ import annotations

from collections.abc import Iterator

from neuraldbg.detectors._event import named, saw, several
from neuraldbg.measures.run import Run, owner_of
from neuraldbg.measures.wiring import common_owner, output_layers, share_of_elements
from neuraldbg.records import SemanticEvent

NEEDS: tuple[str, ...] = ()

#: Share of the elements.
MOST = 0.5


def detect(run: Run) -> Iterator[SemanticEvent]:
    frozen = [name for name, row in run.membership.items() if not row[0] and run.elements.get(name, 0) > 1]
    if not frozen:
        return
    share = share_of_elements(run, frozen)
    heads = output_layers(run)
    at_head = [name for name in frozen if owner_of(name) in heads and owner_of(name)]
    flags: dict[str, set[int]] = {}
    for name, row in run.membership.items():
        flags.setdefault(owner_of(name), set()).add(int(row[0]))
    mixed = [owner for owner, seen in flags.items() if len(seen) > 1]
    findings: tuple[str, ...]
    if at_head:
        words, layer = (
            f"{named(owner_of(at_head[0]))}, which makes the prediction, has requires_grad off",
            owner_of(at_head[0]),
        )
        findings = ("last_layer_is_frozen", "some_parameters_frozen")
    elif mixed:
        words, layer = f"in {several(mixed)} some parameters train and others have requires_grad off", mixed[0]
        findings = ("weights_frozen_beside_biases", "some_parameters_frozen")
    else:
        words, layer = (
            f"{100 * share:.0f} % of the parameters have requires_grad off ({several(frozen)})",
            common_owner(frozen),
        )
        findings = ("some_parameters_frozen",)
    findings += ("frozen_parameters_are_in_optimizer",)
    if share > MOST:
        findings += ("trainable_share_is_low",)
    yield saw(
        "wiring_fault",
        "faulty",
        (0, max(0, run.trace.last_step)),
        words,
        layer=layer,
        findings=findings,
        confidence=0.9 if at_head or mixed else 0.5,
        share=share,
        parameters=len(frozen),
    )
