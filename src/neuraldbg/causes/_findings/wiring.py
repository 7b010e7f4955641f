"""Which parameters train, which modules are reached, which mode they run in."""

from __future__ import annotations

import numpy as np

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.measures.run import Run, owner_of
from neuraldbg.records import Finding


def _elements(run: Run, names: list[str]) -> int:
    return sum(run.elements.get(name, 0) for name in names)


def _common_owner(names: list[str]) -> str:
    """The deepest module path that holds all the parameters."""
    owners = [owner_of(name).split(".") if owner_of(name) else [] for name in names]
    if not owners:
        return ""
    shared: list[str] = []
    for parts in zip(*owners):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return ".".join(shared)


def _called(run: Run) -> set[str]:
    """Modules whose forward ran with gradients."""
    series = run.series("module.output_std")
    flags = run.series("module.output_requires_grad")
    return {*series.names, *flags.names}


def parameters_left_out_of_optimizer(run: Run) -> Finding:
    """Parameters that get gradients are held by no optimizer that steps."""
    rows = run.membership
    if not rows or run.optimizer_steps == 0:
        return unmeasured()
    norms = run.series("parameter.gradient_norm")
    moving = {name for i, name in enumerate(norms.names) if np.nanmax(norms.values[:, i], initial=0.0) > 0}
    left = [
        name
        for name, (trains, held, _) in rows.items()
        if trains and not held and (run.had_gradient.get(name) or name in moving)
    ]
    if not left:
        return absent()
    share = _elements(run, left) / max(1, _elements(run, [n for n, row in rows.items() if row[0]]))
    return present(
        f"{len(left)} parameter(s) get gradients and are in no optimizer that steps ({left[0]} …)"
        if len(left) > 1
        else f"{left[0]} gets gradients and is in no optimizer that steps",
        layer=_common_owner(left),
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


def trainable_share_is_low(run: Run) -> Finding:
    """Most of the model has requires_grad off."""
    rows = run.membership
    if not rows:
        return unmeasured()
    frozen = [name for name, row in rows.items() if not row[0]]
    share = _elements(run, frozen) / max(1, _elements(run, list(rows)))
    return when(
        share > 0.5,
        f"{100 * share:.0f} % of the parameters have requires_grad off",
        share=share,
        layer=_common_owner(frozen),
    )


def last_layer_is_frozen(run: Run) -> Finding:
    """The layer that makes the prediction has requires_grad off."""
    rows = run.membership
    if not rows:
        return unmeasured()
    frozen = [name for name, row in rows.items() if not row[0]]
    if not frozen:
        return absent()
    heads = {edge.source for edge in run.trace.flow if edge.target == "<loss>"}
    for curve in run.curves:
        for term in curve.terms:
            if term.get("producer") is not None:
                heads.update([str(term["producer"]), *term.get("producers", [])])
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
        layer=_common_owner(frozen) if frozen else None,
    )


def nothing_trains(run: Run) -> Finding:
    """No parameter both receives a gradient and is moved by an optimizer."""
    if run.optimizer_steps == 0 or not run.membership:
        return unmeasured()
    series = run.series("parameter.update_norm")
    moved = bool(series) and bool(np.nanmax(series.values, initial=0.0) > 0)
    return when(not moved, "no parameter of the model was ever moved by a step")


def _without_gradient(run: Run) -> list[str]:
    """Trainable parameters that never had a gradient, or only exact zeros, though a backward came."""
    rows = run.membership
    if not rows or run.backwards < 3:
        return []
    norms = run.series("parameter.gradient_norm")
    largest = {name: float(np.nanmax(norms.values[:, i], initial=0.0)) for i, name in enumerate(norms.names)}
    out = []
    for name, row in rows.items():
        if row[0] and not (run.had_gradient.get(name) and largest.get(name, 1.0) > 0):
            out.append(name)
    return out


def parameters_never_reached(run: Run) -> Finding:
    """Trainable parameters without any gradient in modules whose forward is never called."""
    rows = run.membership
    if not rows or not run.series("module.output_std"):
        return unmeasured()
    called = _called(run)
    lost = [n for n in _without_gradient(run) if not run.had_gradient.get(n)]
    lost = [
        n for n in lost if owner_of(n) and owner_of(n) not in called and not _functional_owner(run, owner_of(n), called)
    ]
    if not lost:
        return absent()
    held = [n for n in lost if rows[n][1]]
    place = _common_owner(lost)
    share = _elements(run, lost) / max(1, _elements(run, list(rows)))
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
    lost = {owner_of(n) for n in _without_gradient(run) if not run.had_gradient.get(n)} & _called(run)
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
    lost_parameters = [n for n in _without_gradient(run) if not run.had_gradient.get(n)]
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
    lost = [n for n in _without_gradient(run) if not run.had_gradient.get(n)]
    called = _called(run)
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
        last = _last_called(run, cut)
        return present(
            f"the output of '{last or 'the model'}' carries no graph, and {len(lost)} parameter(s) below it get no gradient",
            layer=last,
        )
    dropped = _dropped_modules(run) or []
    last = dropped[-1] if dropped else _common_owner(lost)
    return present(
        f"{len(lost)} parameter(s) of '{_common_owner(lost) or 'the model'}' get no gradient though their forward runs",
        layer=last,
    )


def _called_above(owner: str, called: set[str]) -> bool:
    while owner:
        owner = owner.rpartition(".")[0]
        if owner in called and owner:
            return True
    return False


def _last_called(run: Run, names: list[str]) -> str:
    """The outermost of the modules that end latest: places are numbered in the order in which forwards end."""
    order = {place.name: place.identifier for place in run.trace.places if place.kind == "module"}
    return max(names, key=lambda name: order.get(name, -1))


def modules_in_eval_mode(run: Run) -> Finding:
    """Modules with a training mode run in eval mode in forwards that get a backward."""
    series = run.series("module.training")
    if not series:
        return unmeasured()
    off: list[tuple[int, str]] = []
    total = 0
    for index, place in enumerate(series.places):
        if not place.details.get("has_mode"):
            continue
        total += 1
        column = series.values[:, index]
        seen = ~np.isnan(column)
        values = column[seen]
        if values.size and np.mean(values[values.size // 3 :]) < 0.5:
            first = int(series.steps[seen][np.argmax(values < 0.5)])
            off.append((first, place.name))
    if not off:
        return absent()
    first, name = min(off)
    return present(
        f"{len(off)} of {total} modules with a training mode run in eval mode while parameters are trained ('{name}')",
        step=first,
        layer=name,
        share=len(off) / total,
    )


def whole_model_in_eval_mode(run: Run) -> Finding:
    """Every module with a training mode, dropout among them or the root flag itself, is in eval mode."""
    series = run.series("module.training")
    found = modules_in_eval_mode(run)
    if not series or found.present is None:
        return unmeasured()
    if not found.present or found.numbers.get("share", 0) < 1:
        return absent()
    roots = [i for i, p in enumerate(series.places) if not p.details.get("has_mode")]
    off = [i for i in roots if np.nanmean(series.values[series.values.shape[0] // 3 :, i]) < 0.5]
    return when(bool(off) or not roots, "the model itself is in eval mode", layer=found.layer, step=found.step)


def eval_mode_only_in_norms_of_a_frozen_part(run: Run) -> Finding:
    """Only batch norms are in eval mode, and their own parameters do not train: frozen on purpose."""
    series = run.series("module.training")
    if not series:
        return unmeasured()
    rows = run.membership
    off = []
    for index, place in enumerate(series.places):
        if place.details.get("has_mode") and np.nanmean(series.values[:, index]) < 0.5:
            off.append(place)
    if not off:
        return absent()
    if not all(place.details.get("batch_norm") or place.details.get("kind") in ("dropout", "norm") for place in off):
        return absent()
    frozen = all(not row[0] for n, row in rows.items() if owner_of(n) in {p.name for p in off})
    root_trains = any(
        not p.details.get("has_mode") and np.nanmean(series.values[:, i]) > 0.5 for i, p in enumerate(series.places)
    )
    return when(
        root_trains or (frozen and all(p.details.get("batch_norm") for p in off)),
        "only frozen batch norms are in eval mode",
    )


def batch_norm_sees_few_samples(run: Run) -> Finding:
    """Batch statistics come from one or two samples, or from at most four values per channel."""
    batches, values = run.series("module.normalized_batch"), run.series("module.normalized_samples")
    if not batches:
        return absent() if run.series("module.output_std") else unmeasured()
    typical = np.nanmedian(batches.values, axis=0)
    per_channel = np.nanmedian(values.values, axis=0)
    few = [i for i in range(typical.size) if typical[i] <= 2 or per_channel[i] <= 4]
    if not few:
        return absent()
    index = few[0]
    return present(
        f"batch norm '{batches.names[index]}' takes its statistics from {typical[index]:.0f} sample(s)",
        layer=batches.names[index],
        samples=float(typical[index]),
    )


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


def replicas_differ(run: Run) -> Finding:
    """Replicas of a parameter or buffer differ between ranks."""
    facts = run.trace.facts("ranks.diverged")
    if not facts:
        return unmeasured()
    fact = facts[0]
    name = str(fact.data.get("parameter", ""))
    return present(
        f"'{name}' differs between ranks since step {fact.step}", step=fact.step, parameter=name, layer=owner_of(name)
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
        layer=_common_owner(names) if names else None,
    )
