"""The spread of the weights before training."""

from __future__ import annotations

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.measures.depth import early
from neuraldbg.measures.linearity import LINEAR_KINDS
from neuraldbg.measures.run import Run, owner_of
from neuraldbg.records import Finding, Place

#: A spread, in units of 1/sqrt(fan-in), below which no scheme of initialization starts a table that is not zero.
_NEXT_TO_NOTHING = 1e-3


def _initial_scales(run: Run) -> list[tuple[float, Place]]:
    """std × sqrt(fan-in) of the weight matrices: about 0.58 (PyTorch's default) to 1.41 (He)."""
    series = run.series("parameter.initial_scale")
    embeddings = {p.name for p in run.trace.places if p.kind == "module" and p.details.get("kind") == "embedding"}
    norms = {p.name for p in run.trace.places if p.kind == "module" and p.details.get("kind") == "norm"}
    return [
        (float(series.first[i]), place)
        for i, place in enumerate(series.places)
        if owner_of(place.name) not in embeddings | norms
        and place.name.rpartition(".")[2].startswith(("weight", "in_proj"))
    ]


def _tables_of_any_name(run: Run) -> list[tuple[float, Place]]:
    """The same for parameters of two dimensions and more that are not called weights: votes, kernels, bases."""
    series = run.series("parameter.initial_scale")
    ours = {place.name for _, place in _initial_scales(run)}
    kinds = {p.name: p.details.get("kind") for p in run.trace.places if p.kind == "module"}
    return [
        (float(series.first[i]), place)
        for i, place in enumerate(series.places)
        if place.name not in ours and kinds.get(owner_of(place.name)) not in ("embedding", "norm")
    ]


def _scaled_when_used(run: Run, owner: str) -> bool:
    """Whether a module of the user's own gives outputs of its input's size all the same: it scales its weights itself.

    As weights of unit spread that are multiplied by a gain at each call (equalized learning rate: Karras et al. 2018).
    """
    if run.module_details(owner).get("kind") in LINEAR_KINDS:
        return False
    read, given = (early(run.trace, quantity, 1).get(owner) for quantity in ("module.input_std", "module.output_std"))
    return read is not None and given is not None and 0 < given < 2 * read


def _large_scales(run: Run) -> list[tuple[float, Place]]:
    return [
        (value, place)
        for value, place in _initial_scales(run)
        if value <= 3 or not _scaled_when_used(run, owner_of(place.name))
    ]


def initial_weights_large(run: Run) -> Finding:
    """A weight matrix starts at more than three times what its fan-in asks for."""
    if run.start_did_no_harm():
        return absent()
    scales = _large_scales(run)
    if not scales:
        return unmeasured()
    value, place = max(scales, key=lambda item: item[0])
    return when(
        value > 3.0,
        f"'{place.name}' starts with a spread of {value:.2g}/sqrt(fan-in) (usual: 0.6 to 1.4)",
        layer=owner_of(place.name),
        parameter=None,
        scale=value,
    )


def initial_weights_extreme(run: Run) -> Finding:
    """A weight matrix starts at more than eight times what its fan-in asks for: no gain of a deep stack is that large."""
    if run.start_did_no_harm():
        return absent()
    scales = _large_scales(run)
    if not scales:
        return unmeasured()
    value, place = max(scales, key=lambda item: item[0])
    return when(
        value > 8.0, f"'{place.name}' starts at {value:.2g}/sqrt(fan-in)", layer=owner_of(place.name), scale=value
    )


def _normalized_throughout(run: Run) -> bool:
    """Whether there is a norm for every four linear or convolution layers at least, as in a transformer block."""
    modules = [place.details for place in run.trace.places if place.kind == "module"]
    norms = sum("norm" in str(details.get("class", "")).lower() for details in modules)
    return norms > 0 and 4 * norms >= sum(details.get("kind") in LINEAR_KINDS for details in modules)


def initial_weights_small(run: Run) -> Finding:
    """At least half of the weight matrices start below a seventh of what their fan-in asks for, without being zero.

    Layers that a norm follows or precedes do not mind: it restores the scale of what they give.
    """
    if run.start_did_no_harm() or _normalized_throughout(run):
        return absent()
    scales = [(value, place) for value, place in _initial_scales(run)]
    if not scales:
        return unmeasured()
    small = [(value, place) for value, place in scales if 0 < value < 0.12]
    if len(small) < 0.5 * len(scales):
        return absent()
    value, place = min(small, key=lambda item: item[1].identifier)
    return present(
        f"{len(small)} of {len(scales)} weight matrices start with a spread below 0.12/sqrt(fan-in) ('{place.name}': {value:.2g})",
        layer=owner_of(place.name),
        scale=value,
    )


def a_layer_starts_small(run: Run) -> Finding:
    """Some inner weight matrix starts below a twentieth of what its fan-in asks for, without being zero."""
    if run.start_did_no_harm():
        return absent()
    scales = _initial_scales(run)
    if not scales:
        return unmeasured()
    small = [(value, place) for value, place in scales if 0 < value < 0.03]
    small += [(value, place) for value, place in _tables_of_any_name(run) if 0 < value < _NEXT_TO_NOTHING]
    if not small:
        return absent()
    value, place = small[0]
    return present(
        f"'{place.name}' starts with a spread of {value:.2g}/sqrt(fan-in)", layer=owner_of(place.name), scale=value
    )


def embedding_used_as_output_starts_large(run: Run) -> Finding:
    """An embedding with unit spread also makes the logits: they start with a spread of sqrt(width)."""
    if run.start_did_no_harm():
        return absent()
    stds = run.series("parameter.initial_std")
    calls = {p.name: p for p in run.trace.places if p.kind == "module" and p.details.get("kind") == "embedding"}
    shapes = {p.name: p.details.get("shape") for p in run.trace.places if p.kind == "parameter"}
    heads = {str(term.get("producer")) for curve in run.curves for term in curve.terms if term.get("producer")}
    for index, place in enumerate(stds.places):
        if owner_of(place.name) not in calls or stds.first[index] < 0.3:
            continue
        for head in heads:
            own = f"{head}.weight"
            details = run.module_details(head)
            if own not in shapes and details.get("kind") == "linear" and shapes.get(place.name):
                return present(
                    f"'{place.name}' starts with a spread of {stds.first[index]:.2g} and is also the weight of '{head}'",
                    layer=owner_of(place.name),
                )
    return absent() if stds else unmeasured()
