"""Parameters with requires_grad off."""

from __future__ import annotations

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.measures.run import Run, owner_of
from neuraldbg.measures.wiring import common_owner, output_layers, place_of, share_of_elements
from neuraldbg.records import Finding

#: Share of its start to which a loss falls when what is frozen was not needed: adapters, a probe on a backbone.
_LEARNED = 0.2


def trainable_share_is_low(run: Run) -> Finding:
    """Most of the model has requires_grad off."""
    rows = run.membership
    if not rows:
        return unmeasured()
    if run.learned_to(_LEARNED):
        return absent()
    frozen = [name for name, row in rows.items() if not row[0]]
    share = share_of_elements(run, frozen)
    return when(
        share > 0.5,
        f"{100 * share:.0f} % of the parameters have requires_grad off",
        share=share,
        layer=common_owner(frozen),
    )


def last_layer_is_frozen(run: Run) -> Finding:
    """The layer that makes the prediction has requires_grad off."""
    rows = run.membership
    if not rows:
        return unmeasured()
    if run.learned_to(_LEARNED):
        return absent()
    frozen = [name for name, row in rows.items() if not row[0]]
    if not frozen:
        return absent()
    heads = output_layers(run)
    head_parameters = [name for name in frozen if owner_of(name) in heads and owner_of(name)]
    if not heads:
        return unmeasured()
    if head_parameters:
        return present(
            f"'{owner_of(head_parameters[0])}', which makes the prediction, has requires_grad off",
            layer=owner_of(head_parameters[0]),
        )
    return absent()


def weights_frozen_beside_biases(run: Run) -> Finding:
    """requires_grad is off for a part of the parameters within the modules that are meant to train."""
    rows = run.membership
    if not rows:
        return unmeasured()
    if run.learned_to(_LEARNED):
        return absent()
    by_owner: dict[str, list[tuple[str, int]]] = {}
    for name, row in rows.items():
        by_owner.setdefault(owner_of(name), []).append((name, row[0]))
    mixed = [owner for owner, entries in by_owner.items() if len({flag for _, flag in entries}) > 1]
    return when(
        bool(mixed),
        f"in {len(mixed)} module(s) some parameters train and others have requires_grad off",
        layer=mixed[0] if mixed else None,
    )


def some_parameters_frozen(run: Run) -> Finding:
    """At least one weight matrix has requires_grad off."""
    rows = run.membership
    if not rows:
        return unmeasured()
    frozen = [name for name, row in rows.items() if not row[0] and run.elements.get(name, 0) > 1]
    return when(
        bool(frozen),
        f"{len(frozen)} parameters have requires_grad off",
        layer=place_of(run, frozen) if frozen else None,
    )


def frozen_parameters_are_in_optimizer(run: Run) -> Finding:
    """An optimizer holds weight matrices whose requires_grad is off: they were meant to train."""
    rows = run.membership
    if not rows:
        return unmeasured()
    names = [name for name, row in rows.items() if not row[0] and row[1] and run.elements.get(name, 0) > 1]
    return when(
        bool(names),
        f"the optimizer holds {len(names)} parameters whose requires_grad is off",
        layer=place_of(run, names) if names else None,
    )
