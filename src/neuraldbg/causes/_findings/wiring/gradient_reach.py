"""Parameters that no gradient reaches, and where the graph ends."""

from __future__ import annotations

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.measures.run import Run, owner_of
from neuraldbg.measures.wiring import (
    called_modules,
    common_owner,
    last_called,
    parameters_without_gradient,
    share_of_elements,
)
from neuraldbg.records import Finding


def parameters_never_reached(run: Run) -> Finding:
    """Trainable parameters without any gradient in modules whose forward is never called."""
    rows = run.membership
    if not rows or not run.series("module.output_std"):
        return unmeasured()
    called = called_modules(run)
    lost = parameters_without_gradient(run)
    lost = [
        n for n in lost if owner_of(n) and owner_of(n) not in called and not _functional_owner(run, owner_of(n), called)
    ]
    if not lost:
        return absent()
    held = [n for n in lost if rows[n][1]]
    place = common_owner(lost)
    share = share_of_elements(run, lost)
    where = place or owner_of(lost[0])
    verb = "is trained for and its forward is never called" if held else "is never called"
    return present(
        f"'{where}' {verb}: {len(lost)} parameter(s) never get a gradient",
        layer=place or owner_of(lost[0]),
        share=share,
    )


def _functional_owner(run: Run, owner: str, called: set[str]) -> bool:
    """Whether a module's weights may be used by its parent without calling it (attention's output projection)."""
    parent = owner.rpartition(".")[0]
    return run.module_details(parent).get("kind") == "attention"


def output_is_dropped(run: Run) -> Finding:
    """A module with trainable parameters is called, what it reads is trained, and no path leads from it to the loss."""
    lost = _dropped_modules(run)
    if lost is None:
        return unmeasured()
    if not lost or lost_part_is_the_front(run).present:
        return absent()
    return present(
        f"'{lost[-1]}' is called with gradients, and no path leads from its output to the loss", layer=lost[-1]
    )


def lost_part_is_the_front(run: Run) -> Finding:
    """All modules with parameters up to some call get no gradient, and those called later do: the graph ends between."""
    rows = run.membership
    lost = {owner_of(n) for n in parameters_without_gradient(run)} & called_modules(run)
    if not rows or not run.series("module.output_requires_grad"):
        return unmeasured()
    if not lost:
        return absent()
    own = {owner_of(name) for name, row in rows.items() if row[0]}
    order = [
        p.name for p in sorted(run.trace.places, key=lambda p: p.identifier) if p.kind == "module" and p.name in own
    ]
    last = max((order.index(name) for name in lost if name in order), default=-1)
    front = set(order[: last + 1])
    return when(
        bool(front) and last + 1 < len(order) and front <= lost,
        f"everything up to '{order[last]}' gets no gradient",
        layer=order[last],
    )


def _dropped_modules(run: Run) -> list[str] | None:
    """Called modules with parameters, output with a graph, no gradient: in the order of their calls."""
    flags = run.series("module.output_requires_grad")
    if not flags or not run.membership:
        return None
    lost_parameters = parameters_without_gradient(run)
    owners = {owner_of(n) for n in lost_parameters}
    gradients = set(run.series("module.output_gradient_norm").names)
    found = []
    for index, name in enumerate(flags.names):
        if name in owners and flags.first[index] == 1 and name not in gradients:
            found.append(name)
    return found


def graph_is_cut(run: Run) -> Finding:
    """Trainable parameters get no gradient though their forward runs."""
    rows = run.membership
    if not rows or not run.series("module.output_requires_grad"):
        return unmeasured()
    lost = parameters_without_gradient(run)
    called = called_modules(run)
    lost = [n for n in lost if owner_of(n) in called or _called_above(owner_of(n), called)]
    if not lost:
        return absent()
    flags = run.series("module.output_requires_grad")
    by_name = {name: flags.first[i] for i, name in enumerate(flags.names)}
    # The innermost called module that holds lost parameters and whose output carries no graph, the last one called.
    cut = [
        name
        for name in flags.names
        if by_name[name] == 0 and any(n.startswith(name + ".") or owner_of(n) == name for n in lost)
    ]
    if cut:
        last = last_called(run, cut)
        return present(
            f"the output of '{last or 'the model'}' carries no graph, and {len(lost)} parameter(s) below it get no gradient",
            layer=last,
        )
    dropped = _dropped_modules(run) or []
    last = dropped[-1] if dropped else common_owner(lost)
    return present(
        f"{len(lost)} parameter(s) of '{common_owner(lost) or 'the model'}' get no gradient though their forward runs",
        layer=last,
    )


def _called_above(owner: str, called: set[str]) -> bool:
    while owner:
        owner = owner.rpartition(".")[0]
        if owner in called and owner:
            return True
    return False
