"""Signal and gradient over depth, saturation, dead units, initial weights."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.measures.depth import Chain, early, flow_graph, late
from neuraldbg.measures.run import Run, owner_of
from neuraldbg.records import Finding, Place

#: Links from which a stack counts as deep.
_DEEP = 8


def _chain(run: Run, stage: str = "early") -> Chain | None:
    return run.chain(stage)


def _depth(chain: Chain) -> int:
    return len(chain.links)


def _container(chain: Chain) -> str:
    """The path that most of the chain's modules share, as the place of a fault of the whole stack."""
    counts: dict[str, int] = {}
    for name in chain.modules:
        parts = name.split(".")
        for size in range(1, len(parts)):
            prefix = ".".join(parts[:size])
            counts[prefix] = counts.get(prefix, 0) + 1
    inside = [name for name, count in counts.items() if count >= 0.6 * len(chain.modules)]
    return max(inside, key=lambda name: (-name.count("."), counts[name]), default="")


def gradient_vanishes_over_depth(run: Run) -> Finding:
    """In the first steps the gradient at the first module is below a thousandth of that at the last one."""
    chain = _chain(run)
    if chain is None or len(chain.links) < 2:
        return unmeasured()
    ratio = chain.log_gradient_ratio
    return when(
        ratio < -3,
        f"the gradient shrinks from {chain.gradients[-1]:.2g} at '{chain.modules[-1]}' to {chain.gradients[0]:.2g} at '{chain.modules[0]}'",
        layer=_container(chain) or chain.modules[0],
        ratio=ratio,
    )


def gradient_shrinks_over_depth(run: Run) -> Finding:
    """In the first steps the gradient at the first module is below a tenth of that at the last one."""
    chain = _chain(run)
    if chain is None or len(chain.links) < 2:
        return unmeasured()
    return when(
        chain.log_gradient_ratio < -1.0,
        f"the gradient loses {-chain.log_gradient_ratio:.1f} powers of ten over depth",
        layer=chain.modules[0],
    )


def gradient_loss_spread_evenly(run: Run) -> Finding:
    """Many links each lose a little of the gradient: no single one accounts for a third of it."""
    chain = _chain(run)
    if chain is None or len(chain.links) < 2:
        return unmeasured()
    share, _ = chain.largest_share
    losing = sum(link.log_gain < -0.02 for link in chain.links)
    return when(
        chain.log_gradient_ratio < -1.0 and share < 0.35 and losing >= 5,
        f"{losing} of {len(chain.links)} modules each take a share of at most {100 * share:.0f} %",
        layer=_container(chain) or chain.modules[0],
        share=share,
    )


def gradient_loss_concentrated(run: Run) -> Finding:
    """One link accounts for more than half of the gradient's loss."""
    chain = _chain(run)
    if chain is None or len(chain.links) < 2:
        return unmeasured()
    share, link = chain.largest_share
    lost = chain.log_gradient_ratio < -1.5 or (link is not None and link.log_gain < -1.5)
    return when(
        bool(link is not None and share > 0.5 and lost),
        f"'{link.module if link else ''}' takes {100 * share:.0f} % of the gradient's loss",
        layer=link.module if link else None,
        share=share,
    )


def gradient_explodes_over_depth(run: Run) -> Finding:
    """In the first steps the gradient grows towards the input by more than a thousandfold."""
    chain = _chain(run, "first")
    if chain is None or len(chain.links) < 4:
        return unmeasured()
    ratio = chain.log_gradient_ratio
    largest = max(chain.gradients, default=0.0)
    known = [g for g in chain.gradients if g > 0 and math.isfinite(g)]
    if known and math.isfinite(largest) and known[-1] > 0:
        ratio = max(ratio, math.log10(max(known) / known[-1]))
    growing = sum(link.log_gain > 0.05 for link in chain.links)
    return when(
        ratio > 2 and growing >= 4,
        f"the gradient grows {10 ** min(ratio, 30):.2g}-fold from '{chain.modules[-1]}' back to '{chain.modules[0]}'",
        layer=_container(chain) or chain.modules[0],
        ratio=ratio,
    )


def signal_explodes_over_depth(run: Run) -> Finding:
    """In the first steps the spread of outputs grows over many modules by more than a hundredfold."""
    chain = _chain(run, "first")
    if chain is None or len(chain.links) < 4:
        return unmeasured()
    spreads = [s for s in chain.spreads if s > 0 and math.isfinite(s)]
    if len(spreads) < 4:
        return unmeasured()
    ratio = math.log10(max(spreads[len(spreads) // 2 :]) / spreads[0])
    rising = sum(b > 1.1 * a for a, b in itertools.pairwise(spreads))
    return when(
        ratio > 1.7 and rising >= 4,
        f"the outputs grow from a spread of {spreads[0]:.2g} to {max(spreads):.3g} over {len(spreads)} modules",
        layer=_container(chain) or chain.modules[0],
        ratio=ratio,
    )


def signal_dies_over_depth(run: Run) -> Finding:
    """In the first steps the spread across samples shrinks over depth to less than a thousandth."""
    chain = _chain(run)
    if chain is None or len(chain.links) < 2:
        return unmeasured()
    across = early(run.trace, "module.output_batch_spread")
    values = [across[name] for name in chain.modules if name in across and math.isfinite(across[name])]
    if len(values) < 3 or values[0] <= 0:
        return unmeasured()
    lowest = min(values[1:])
    return when(
        lowest < 1e-3 * values[0],
        f"the differences between samples shrink from {values[0]:.2g} to {lowest:.2g} over depth",
        layer=_container(chain) or chain.modules[0],
    )


def stack_is_deep(run: Run) -> Finding:
    """The longest path has at least eight steps, or a module runs many times in a row."""
    chain = _chain(run)
    calls = run.series("module.calls")
    looped = bool(calls) and bool(np.nanmax(calls.values) >= _DEEP)
    if chain is None:
        return unmeasured()
    return when(_depth(chain) >= _DEEP or looped, f"the longest path has {_depth(chain)} steps")


def model_is_recurrent(run: Run) -> Finding:
    """A recurrent module, or a module that is called many times per step."""
    recurrent = [p for p in run.trace.places if p.kind == "module" and p.details.get("kind") == "recurrent"]
    calls = run.series("module.calls")
    name = recurrent[0].name if recurrent else None
    if name is None and calls:
        many = [calls.names[i] for i in range(len(calls.names)) if np.nanmax(calls.values[:, i]) >= 6]
        name = many[0] if many else None
    if name is None:
        return absent() if run.series("module.output_std") else unmeasured()
    return present(f"'{name}' is recurrent", layer=name)


def gradient_vanishes_over_time(run: Run) -> Finding:
    """A module called many times per step gets at its first call less than a thousandth of the last call's gradient."""
    first, last = early(run.trace, "module.first_call_gradient_norm"), early(run.trace, "module.output_gradient_norm")
    calls = run.series("module.calls")
    best = (0.0, "")
    for index, name in enumerate(calls.names):
        if np.nanmax(calls.values[:, index]) < 6 or name not in first or last.get(name, 0) <= 0:
            continue
        ratio = math.log10(max(first[name], 1e-30) / last[name])
        best = min(best, (ratio, name))
    if not calls:
        return unmeasured()
    return when(
        best[0] < -3,
        f"at its first call '{best[1]}' gets 1e{best[0]:.0f} of the gradient of its last call",
        layer=best[1],
    )


def recurrent_weights_expand(run: Run) -> Finding:
    """The recurrent matrix of an RNN has grown, or started, well above an orthogonal one's scale."""
    series = run.series("parameter.weight_norm")
    for index, place in enumerate(series.places):
        if "weight_hh" not in place.name:
            continue
        shape = place.details.get("shape", [1, 1])
        gates = max(1, round(shape[0] / max(1, shape[-1])))
        values = series.values[:, index]
        values = values[np.isfinite(values)]
        if values.size:
            scale = float(values.max()) / math.sqrt(gates * shape[-1])
            if scale > 1.6:
                return present(
                    f"the recurrent weights of '{owner_of(place.name)}' reach {scale:.2g} times an orthogonal matrix",
                    layer=owner_of(place.name),
                )
    return absent() if series else unmeasured()


# activations ---------------------------------------------------------------------------------------------------------


def _activation(run: Run, quantity: str, operations: set[str], stage: str) -> list[tuple[float, Place]]:
    # The very first observation: later ones show what the first updates did.
    values = early(run.trace, quantity, 1) if stage == "early" else late(run.trace, quantity)
    return [
        (values[place.name], place)
        for place in run.series(quantity).places
        if place.name in values and place.details.get("operation") in operations and math.isfinite(values[place.name])
    ]


def _layer_of(place: Place, prefer_module: bool = False) -> str | None:
    module, producer = place.details.get("module"), place.details.get("producer")
    chosen = module if prefer_module and module is not None else producer if producer is not None else module
    return str(chosen) if chosen is not None else None


def _sites_inside(run: Run, found: list[tuple[float, Place]]) -> list[tuple[float, Place]]:
    """Without the output activation: saturation of a confident prediction is no fault."""
    outputs = set()
    for curve in run.curves:
        for term in curve.terms:
            if term.get("chain"):
                outputs.update({term.get("producer")})
    return [(value, place) for value, place in found if place.details.get("producer") not in outputs]


def units_saturated_from_start(run: Run) -> Finding:
    """More than half of a sigmoid's or tanh's units sit within 1e-2 of a bound in the first steps."""
    found = _sites_inside(
        run, _activation(run, "activation.saturated_share", {"Sigmoid", "Tanh", "Hardtanh", "Hardsigmoid"}, "early")
    )
    if not run.series("module.output_std"):
        return unmeasured()
    hit = [(value, place) for value, place in found if value > 0.5]
    if not hit:
        return absent()
    value, place = max(hit, key=lambda item: item[0])
    return present(
        f"{100 * value:.0f} % of the units of '{_layer_of(place)}' sit at the bounds of {place.details['operation'].lower()} from the first steps",
        layer=_layer_of(place),
        share=value,
    )


def units_saturate_later(run: Run) -> Finding:
    """More than half of a sigmoid's or tanh's units end at a bound, having begun free."""
    found = _sites_inside(
        run, _activation(run, "activation.saturated_share", {"Sigmoid", "Tanh", "Hardtanh", "Hardsigmoid"}, "late")
    )
    first = early(run.trace, "activation.saturated_share")
    if not run.series("module.output_std"):
        return unmeasured()
    hit = [(value, place) for value, place in found if value > 0.5 and first.get(place.name, 1.0) < 0.3]
    if not hit:
        return absent()
    value, place = max(hit, key=lambda item: item[0])
    steps, column = run.series("activation.saturated_share").column(place.name)
    step = int(steps[np.argmax(column > 0.5)])
    return present(
        f"{100 * value:.0f} % of the units of '{_layer_of(place)}' saturate from step {step} on",
        layer=_layer_of(place),
        step=step,
    )


def softmax_one_hot_from_start(run: Run) -> Finding:
    """An inner softmax is one-hot in most rows in the first steps."""
    found = _sites_inside(run, _activation(run, "activation.saturated_share", {"Softmax"}, "early"))
    if not run.series("module.output_std"):
        return unmeasured()
    hit = [(value, place) for value, place in found if value > 0.4]
    if not hit:
        return absent()
    value, place = max(hit, key=lambda item: item[0])
    return present(
        f"the softmax after '{_layer_of(place)}' is one-hot in {100 * value:.0f} % of its rows from the first steps",
        layer=_layer_of(place, prefer_module=True),
        share=value,
    )


def _dead(run: Run, stage: str) -> list[tuple[float, Place]]:
    return _sites_inside_relu(run, _activation(run, "activation.dead_units", {"Relu", "Threshold"}, stage))


def _sites_inside_relu(run: Run, found: list[tuple[float, Place]]) -> list[tuple[float, Place]]:
    return found


def units_dead_from_start(run: Run) -> Finding:
    """More than 80 % of a ReLU layer's units are zero on the whole batch in the first steps, and stay so."""
    first, last = (
        dict((p.name, (v, p)) for v, p in _dead(run, "early")),
        dict((p.name, v) for v, p in _dead(run, "late")),
    )
    if not run.series("module.output_std"):
        return unmeasured()
    hit = [(v, p) for name, (v, p) in first.items() if v > 0.8 and last.get(name, 0.0) > 0.8]
    if not hit:
        return absent()
    hit.sort(key=lambda item: (item[1].identifier,))
    value, place = max(hit, key=lambda item: item[0])
    earliest = _first_in_flow(run, [p for _, p in hit])
    place = earliest or place
    return present(
        f"{100 * dict((p.name, v) for v, p in hit)[place.name]:.0f} % of the units of '{_layer_of(place)}' are zero on every input from the first steps",
        layer=_layer_of(place),
        share=value,
    )


def _first_in_flow(run: Run, places: list[Place]) -> Place | None:
    """The place whose producer comes first in the order of calls."""
    order = {p.name: p.identifier for p in run.trace.places if p.kind == "module"}
    return min(places, key=lambda place: order.get(str(place.details.get("producer")), 10**9), default=None)


def units_die_later(run: Run) -> Finding:
    """More than 60 % of a ReLU layer's units end up zero on the whole batch, having begun alive."""
    first = {p.name: v for v, p in _dead(run, "early")}
    if not run.series("module.output_std"):
        return unmeasured()
    hit = []
    for value, place in _dead(run, "late"):
        steps, column = run.series("activation.dead_units").column(place.name)
        begins = float(column[0]) if column.size else first.get(place.name, 1.0)
        if value > 0.6 and begins < 0.5 * value:
            hit.append((int(steps[np.argmax(column > 0.6)]), value, place))
    if not hit:
        return absent()
    step, value, place = min(hit, key=lambda item: item[0])
    return present(
        f"{100 * value:.0f} % of the units of '{_layer_of(place)}' are zero on every input since step {step}",
        layer=_layer_of(place),
        step=step,
    )


def biases_start_negative(run: Run) -> Finding:
    """A hidden layer's bias starts well below zero."""
    series = run.series("parameter.initial_mean")
    if not series:
        return unmeasured()
    heads = {str(term.get("producer")) for curve in run.curves for term in curve.terms}
    low = [
        (float(series.first[i]), p.name)
        for i, p in enumerate(series.places)
        if p.name.endswith("bias") and series.first[i] < -0.5 and owner_of(p.name) not in heads
    ]
    return when(
        bool(low),
        f"'{low[0][1] if low else ''}' starts at {low[0][0] if low else 0:.2g}",
        layer=owner_of(low[0][1]) if low else None,
    )


def outputs_collapse(run: Run) -> Finding:
    """Some module's output is the same for all samples late in the run, though its input varies."""
    across, spread = late(run.trace, "module.output_batch_spread"), early(run.trace, "module.output_batch_spread")
    if not across:
        return unmeasured()
    hit = [name for name, value in across.items() if spread.get(name, 0) > 1e-6 and value < 1e-3 * spread[name]]
    return when(
        bool(hit),
        f"the output of '{hit[0] if hit else ''}' is the same for every sample",
        layer=hit[0] if hit else None,
    )


# initial weights -----------------------------------------------------------------------------------------------------


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


def initial_weights_large(run: Run) -> Finding:
    """A weight matrix starts at more than three times what its fan-in asks for."""
    if run.learned_to(0.55):
        return absent()
    scales = _initial_scales(run)
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


def embedding_used_as_output_starts_large(run: Run) -> Finding:
    """An embedding with unit spread also makes the logits: they start with a spread of sqrt(width)."""
    if run.learned_to(0.55):
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


def initial_weights_small(run: Run) -> Finding:
    """At least half of the weight matrices start below a seventh of what their fan-in asks for, without being zero."""
    if run.learned_to(0.55):
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
    if run.learned_to(0.55):
        return absent()
    scales = _initial_scales(run)
    if not scales:
        return unmeasured()
    small = [(value, place) for value, place in scales if 0 < value < 0.03]
    if not small:
        return absent()
    value, place = small[0]
    return present(
        f"'{place.name}' starts with a spread of {value:.2g}/sqrt(fan-in)", layer=owner_of(place.name), scale=value
    )


def outputs_large_at_start(run: Run) -> Finding:
    """A module turns an ordinary input into outputs more than five times as large, at step 0."""
    if run.learned_to(0.55):
        return absent()
    inputs, outputs = early(run.trace, "module.input_std", 1), early(run.trace, "module.output_std", 1)
    if not outputs:
        return unmeasured()
    best = (0.0, "")
    for name, value in outputs.items():
        details = run.module_details(name)
        if details.get("kind") in ("linear", "convolution") and inputs.get(name, 0) > 0.05 and math.isfinite(value):
            best = max(best, (value / inputs[name], name))
    return when(
        best[0] > 4,
        f"'{best[1]}' multiplies the spread of its input by {best[0]:.3g} at step 0",
        layer=best[1],
        gain=best[0],
    )


def _symmetry(run: Run, quantity: str) -> Mapping[str, np.ndarray]:
    series = run.series(quantity)
    return {name: series.values[:, i][~np.isnan(series.values[:, i])] for i, name in enumerate(series.names)}


def units_start_equal(run: Run) -> Finding:
    """The rows of a weight matrix are equal, or all zero, and stay so."""
    weights = _symmetry(run, "parameter.row_spread")
    columns = _symmetry(run, "parameter.column_spread")
    if not weights:
        return unmeasured()
    norms, gradients = early(run.trace, "parameter.weight_norm", 2), late(run.trace, "parameter.gradient_norm")
    shapes = {p.name: p.details.get("shape", []) for p in run.trace.places if p.kind == "parameter"}
    equal = []
    for name, values in weights.items():
        if len(shapes.get(name, [])) < 2 or shapes[name][0] < 2 or not values.size:
            continue
        if (
            norms.get(name, 1.0) == 0
            and late(run.trace, "parameter.weight_norm").get(name, 1.0) == 0
            and gradients.get(name, 1.0) == 0
        ):
            equal.append((name, "all zero, and so are its gradients"))
        elif norms.get(name, 0.0) > 0 and values[0] < 1e-4 and values[-1] < 1e-3:
            equal.append((name, "the same in every row, and stays so"))
        elif _stay_equal(columns.get(name)) and shapes[name][-1] > 1 and norms.get(name, 0.0) > 0:
            equal.append((name, "the same in every column, and stays so"))
    if not equal:
        return absent()
    order = {p.name: p.identifier for p in run.trace.places if p.kind == "module"}
    equal.sort(key=lambda item: order.get(owner_of(item[0]), 10**9))
    name, how = equal[0]
    return present(f"'{name}' is {how}", layer=owner_of(name), count=len(equal))


def _stay_equal(values: np.ndarray | None) -> bool:
    return values is not None and values.size > 0 and bool(values[0] < 1e-4 and values[-1] < 1e-3)


def zero_weights_block_gradient(run: Run) -> Finding:
    """Weights that are exactly zero at the start stay zero, because their gradient is zero."""
    series, gradients = run.series("parameter.weight_norm"), late(run.trace, "parameter.gradient_norm")
    if not series:
        return unmeasured()
    stuck = []
    for index, place in enumerate(series.places):
        column = series.values[:, index]
        column = column[~np.isnan(column)]
        if (
            len(place.details.get("shape", [])) >= 2
            and column.size > 3
            and column.max() == 0
            and gradients.get(place.name, 1.0) == 0
        ):
            stuck.append(place.name)
    return when(
        bool(stuck),
        f"'{stuck[0] if stuck else ''}' is zero, gets no gradient, and stays zero",
        layer=owner_of(stuck[0]) if stuck else None,
    )


# linear stacks -------------------------------------------------------------------------------------------------------

_NONLINEAR = frozenset(
    {
        "Relu", "Threshold", "Sigmoid", "Tanh", "Softmax", "Gelu", "Silu", "LeakyRelu", "Elu", "Selu", "Hardtanh", "Hardsigmoid",
        "Hardswish", "Softplus", "Mish", "Sin", "Cos", "Exp", "Log", "Pow", "Sqrt", "Max", "Maximum", "Minimum", "Abs", "Clamp",
        "ClampMin", "MaxPool2DWithIndices", "MaxPool1DWithIndices", "MaxPool3DWithIndices", "AdaptiveMaxPool2D", "Amax", "Prelu",
        "PreluKernel", "Glu", "LogSigmoid", "LogSigmoidForward", "Erf", "Rsqrt", "LogSoftmax", "Mul", "Bmm", "Mm", "Celu",
        "ScaledDotProductFlashAttentionForCpu", "ScaledDotProductEfficientAttention", "Hardshrink", "Softsign", "RreluWithNoise", "Square",
        "Norm", "LinalgVectorNorm", "Round", "Floor", "Sign", "Atan", "Sinh", "Cosh", "Reciprocal", "Tan",
    }
)  # fmt: skip
_LINEAR_KINDS = frozenset({"linear", "convolution"})
_NONLINEAR_KINDS = frozenset({"activation", "recurrent", "attention"})


def linear_layers_in_a_row(run: Run) -> Finding:
    """Linear or convolution layers feed each other with no nonlinearity between them."""
    graph = flow_graph(run.trace)
    if graph.number_of_nodes() < 2:
        return unmeasured()
    pairs, all_pairs = [], 0
    for target in graph.nodes:
        if run.module_details(target).get("kind") not in _LINEAR_KINDS:
            continue
        for source in _linear_sources(run, graph, target):
            all_pairs += 1
            if source is not None:
                pairs.append((source, target))
    if not pairs:
        return absent()
    source, target = pairs[0]
    return present(
        f"'{source}' feeds '{target}' with no nonlinearity between them ({len(pairs)} such pair(s))",
        layer=source,
        pairs=len(pairs),
        all=all_pairs,
    )


def _linear_sources(run: Run, graph: object, target: str, depth: int = 4) -> list[str | None]:
    """For each way into a linear layer: the linear layer it comes from without a nonlinearity, or None."""
    found: list[str | None] = []
    for source in graph.predecessors(target):  # type: ignore[attr-defined]
        operations = graph.edges[source, target].get("operations", ())  # type: ignore[attr-defined]
        kind = run.module_details(source).get("kind")
        own = run.module_details(source).get("leaf", False)
        if any(op in _NONLINEAR for op in operations) or kind in _NONLINEAR_KINDS or (not own and kind == "container"):
            found.append(None)
        elif kind in _LINEAR_KINDS:
            found.append(source)
        elif kind in ("dropout", "norm") and depth > 0:
            found.extend(_linear_sources(run, graph, source, depth - 1))
        else:
            found.append(None)
    return found


def model_is_linear_throughout(run: Run) -> Finding:
    """No nonlinearity lies anywhere between input and output of a model with several linear layers."""
    graph = flow_graph(run.trace)
    if graph.number_of_nodes() < 3:
        return absent() if graph.number_of_nodes() else unmeasured()
    kinds = [run.module_details(node).get("kind") for node in graph.nodes if node != "<loss>"]
    if sum(kind in _LINEAR_KINDS for kind in kinds) < 2:
        return absent()
    if any(kind in _NONLINEAR_KINDS for kind in kinds):
        return absent()
    inner = [
        op for _, target, data in graph.edges(data=True) if target != "<loss>" for op in data.get("operations", ())
    ]
    return when(not any(op in _NONLINEAR for op in inner), "no nonlinearity lies between input and output", layer="")


def a_module_erases_its_input(run: Run) -> Finding:
    """A first module (normalization, embedding, pooling) turns inputs that vary into the same output for all samples."""
    across, inputs = early(run.trace, "module.output_batch_spread"), early(run.trace, "module.input_std")
    if not across:
        return unmeasured()
    hit = []
    for name, value in across.items():
        kind = run.module_details(name).get("kind")
        if kind in ("norm", "embedding", "other") and inputs.get(name, 0.0) > 1e-4 and value < 1e-6:
            hit.append(name)
    return when(
        bool(hit), f"'{hit[0] if hit else ''}' gives the same output for every sample", layer=hit[0] if hit else None
    )


def a_module_makes_non_finite_values(run: Run) -> Finding:
    """A module turns inputs of ordinary size into outputs that are not finite, with finite weights, not in float16."""
    outputs, inputs = run.series("module.output_absmax"), run.series("module.input_absmax")
    if not outputs:
        return unmeasured()
    bad = np.isposinf(outputs.values)
    if not bad.any():
        return absent()
    row = int(np.flatnonzero(bad.any(axis=1))[0])
    step = int(outputs.steps[row])
    columns = sorted(np.flatnonzero(bad[row]), key=lambda i: outputs.places[i].identifier)
    half = run.series("module.half_precision")
    for column in columns:
        place = outputs.places[column]
        if place.name in half.names and float(np.nanmax(half.values[:, half.names.index(place.name)])) == 16.0:
            return absent()
        steps, read = inputs.column(place.name)
        at = read[steps == step]
        before = outputs.values[:row, column]
        before = before[np.isfinite(before)]
        calm = not before.size or float(before[-3:].max()) < 1e6
        if (not at.size or (np.isfinite(at).all() and at.max() < 1e6)) and calm and step > 0:
            facts = run.trace.facts("nonfinite.loss")
            if facts and facts[0].step < step:
                return absent()
            if facts and facts[0].step == step and facts[0].data.get("bad_parameters"):
                return absent()
            return present(
                f"'{place.name}' gives values that are not finite at step {step}, from ordinary inputs",
                step=step,
                layer=place.name,
            )
        return absent()
    return absent()


def outputs_overflow_at_once(run: Run) -> Finding:
    """At step 0, with untouched weights and ordinary inputs, outputs reach 1e4 times the inputs' size or overflow."""
    if run.learned_to(0.55):
        return absent()
    outputs = run.series("module.output_absmax")
    inputs = early(run.trace, "input.absmax", 1)
    if not outputs or not outputs.values.shape[0]:
        return unmeasured()
    largest = float(np.nanmax(outputs.values[0], initial=0.0))
    entered = max((v for v in inputs.values() if math.isfinite(v)), default=1.0)
    name = (
        outputs.names[int(np.nanargmax(outputs.values[0]))]
        if np.isfinite(outputs.values[0]).any() or np.isinf(outputs.values[0]).any()
        else ""
    )
    return when(
        largest > 1e4 * max(1.0, entered),
        f"outputs reach {largest:.2g} at step 0 ('{name}')",
        layer=name,
        largest=min(largest, 1e38),
    )


def initial_weights_extreme(run: Run) -> Finding:
    """A weight matrix starts at more than eight times what its fan-in asks for: no gain of a deep stack is that large."""
    if run.learned_to(0.55):
        return absent()
    scales = _initial_scales(run)
    if not scales:
        return unmeasured()
    value, place = max(scales, key=lambda item: item[0])
    return when(
        value > 8.0, f"'{place.name}' starts at {value:.2g}/sqrt(fan-in)", layer=owner_of(place.name), scale=value
    )
