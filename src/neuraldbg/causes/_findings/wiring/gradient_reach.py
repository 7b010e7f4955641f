"""Parameters that no gradient reaches, and where the graph ends."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.causes._findings.update.optimizer_steps import gradients_cleared_before_step
from neuraldbg.measures.depth import flow_graph
from neuraldbg.measures.run import Run, owner_of
from neuraldbg.measures.wiring import (
    called_modules,
    common_owner,
    cut_outputs,
    last_called,
    parameters_without_gradient,
    share_of_elements,
)
from neuraldbg.records import Finding

#: Operations of autograd whose derivative is zero wherever there is one.
_FLAT = frozenset({"Round", "Floor", "Ceil", "Trunc", "Sign", "Sgn", "Heaviside"})


def parameters_never_reached(run: Run) -> Finding:
    """Trainable parameters without any gradient in modules whose forward is never called."""
    rows = run.membership
    if not rows or not run.series("module.output_std"):
        return unmeasured()
    called = called_modules(run)
    lost = parameters_without_gradient(run)
    own = _beside_frozen_children(run, called)
    lost = [
        n
        for n in lost
        if owner_of(n)
        and (owner_of(n) in own or owner_of(n) not in called)
        and not _functional_owner(run, owner_of(n), called)
    ]
    chosen = _sometimes_reached(run)
    lost = [n for n in lost if not any(n.startswith(f"{parent}.") for parent in chosen)]
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


def _beside_frozen_children(run: Run, called: set[str]) -> set[str]:
    """Modules with parameters of their own around called ones that are frozen, and whose output carries no graph.

    The output is what the frozen ones give: the parameters beside them, an adapter's, take no part.
    """
    flags, rows = run.series("module.output_requires_grad"), run.membership
    #: Module → whether anything trains in the called modules below it.
    inner: dict[str, bool] = {}
    for parameter, row in rows.items():
        owner = owner_of(parameter)
        if owner in called:
            for at, letter in enumerate(owner):
                if letter == ".":
                    inner[owner[:at]] = inner.get(owner[:at], False) or bool(row[0])
    first = flags.first
    return {name for index, name in enumerate(flags.names) if first[index] == 0 and inner.get(name, True) is False}


def _sometimes_reached(run: Run) -> set[str]:
    """Containers with a numbered member that gets gradients in some steps and none in others: a choice among experts.

    A member that is never chosen is no layer that was forgotten.
    """
    series = run.series("parameter.has_gradient")
    found = set()
    for index, name in enumerate(series.names):
        column = series.values[:, index]
        if not (np.nanmin(column, initial=1.0) < 0.5 < np.nanmax(column, initial=0.0)):
            continue
        parts = name.split(".")
        found |= {".".join(parts[:at]) for at, part in enumerate(parts) if at and part.isdigit()}
    return found


def _functional_owner(run: Run, owner: str, called: set[str]) -> bool:
    """Whether a module's weights may be used by its parent without calling it (attention's output projection)."""
    parent = owner.rpartition(".")[0]
    return run.module_details(parent).get("kind") == "attention"


def output_is_dropped(run: Run) -> Finding:
    """A module with trainable parameters is called, what it reads is trained, and no path leads from it to the loss."""
    lost = _dropped_modules(run)
    if lost is None:
        return unmeasured()
    if not lost or _values_go_on(run, lost) or cut_outputs(run, parameters_without_gradient(run)):
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


def _values_go_on(run: Run, lost: list[str]) -> bool:
    """Whether what the lost modules give is used, though no graph leads from it to the loss.

    It is when nothing learns; when a module that learns is called after them and reads neither the data nor what
    another layer gives, so that what it reads lost its history on the way, through detach, a list or an array; or when
    all modules up to some call are lost and none of those that learn reads the data.
    """
    without = set(parameters_without_gradient(run))
    learning = {owner_of(name) for name in run.membership if name not in without} & called_modules(run)
    if not learning:
        return True
    reads = {name: _reads_data(run, name) for name in learning}
    if lost_part_is_the_front(run).present and not any(reads.values()):
        return True
    # Places are numbered in the order of the calls.
    order = {place.name: place.identifier for place in run.trace.places if place.kind == "module"}
    first_lost = min((order[name] for name in lost if name in order), default=0)
    owners = {owner_of(name) for name in run.membership}
    graph = flow_graph(run.trace)
    return any(
        order.get(name, 0) > first_lost and name in graph and not owners & nx.ancestors(graph, name)
        for name, from_data in reads.items()
        if not from_data and run.module_details(name).get("kind") != "embedding"
    )


def _reads_data(run: Run, name: str) -> bool:
    """Whether a module reads what came in with the data; a floating input is known by its largest value."""
    if run.module_details(name).get("kind") == "embedding":
        integer = run.series("input.integer").of_kind("input")
        return bool(integer) and bool(np.nanmax(integer.values, initial=0.0) > 0)
    data = run.series("input.absmax").of_kind("input")
    steps, values = run.series("module.input_absmax").column(name)
    if not values.size:
        return False
    came_in = [column[at == steps[0]] for at, column in (data.column(one) for one in data.names)]
    return any(value.size and math.isclose(value[0], values[0], rel_tol=1e-3) for value in came_in)


def graph_is_cut(run: Run) -> Finding:
    """Trainable parameters get no gradient though their forward runs."""
    rows = run.membership
    if not rows or not run.series("module.output_requires_grad"):
        return unmeasured()
    lost = parameters_without_gradient(run)
    called = called_modules(run)
    beside = _beside_frozen_children(run, called)
    lost = [n for n in lost if owner_of(n) in called or _called_above(owner_of(n), called)]
    lost = [n for n in lost if owner_of(n) not in beside]
    if not lost:
        return absent()
    if gradients_cleared_before_step(run).present:
        return absent()
    cut = cut_outputs(run, parameters_without_gradient(run))
    if cut:
        last = last_called(run, cut)
        return present(
            f"the output of '{last or 'the model'}' carries no graph, and {len(lost)} parameter(s) below it get no gradient",
            layer=last,
        )
    dropped = _dropped_modules(run) or []
    if dropped and not _values_go_on(run, dropped):
        # Nothing reads what it gives: dropped, not cut.
        return absent()
    last = dropped[-1] if dropped else common_owner(lost)
    return present(
        f"{len(lost)} parameter(s) of '{common_owner(lost) or 'the model'}' get no gradient though their forward runs",
        layer=last,
    )


def gradient_stops_at_flat_function(run: Run) -> Finding:
    """Between two modules lies a function whose slope is zero everywhere, and all gradients up to it are exactly zero.

    Rounding or a sign: the graph goes on through it, and the gradient does not.
    """
    gradients = run.series("parameter.gradient_norm")
    if not gradients or not run.trace.flow:
        return unmeasured()
    graph = flow_graph(run.trace)
    largest = dict(zip(gradients.names, gradients.largest.tolist()))
    for edge in run.trace.flow:
        flat = next((name for name in edge.operations if name in _FLAT), None)
        if flat is None or edge.source not in graph:
            continue
        above = {edge.source, *nx.ancestors(graph, edge.source)}
        lost = [name for name in largest if owner_of(name) in above]
        if lost and all(largest[name] == 0 for name in lost) and any(value > 0 for value in largest.values()):
            return present(
                f"'{edge.target}' reads '{edge.source}' through {flat.lower()}, whose slope is zero everywhere: "
                f"{len(lost)} parameter(s) up to there get gradients of nothing but zeros",
                layer=edge.source,
            )
    return absent()


def _called_above(owner: str, called: set[str]) -> bool:
    while owner:
        owner = owner.rpartition(".")[0]
        if owner in called and owner:
            return True
    return False
