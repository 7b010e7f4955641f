"""What came in with the data: values that are not finite, scale, variation."""

from __future__ import annotations

import math

import numpy as np

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.measures.depth import early, flow_graph
from neuraldbg.measures.inputs import first_trouble, inputs_seen_at, learns_despite_scale, model_inputs
from neuraldbg.measures.linearity import LINEAR_KINDS
from neuraldbg.measures.loss_curve import FEW_ROWS
from neuraldbg.measures.run import Run
from neuraldbg.records import Finding

#: Share of its start to which a loss falls when layers that read a constant were not needed.
_LEARNED = 0.6


def input_non_finite(run: Run) -> Finding:
    """A batch carried NaN or Inf into the model.

    "No" is an answer only where the inputs of the step in which something first was not finite were looked at.
    """
    first = _first_bad_input(run)
    if first is not None:
        step, count, where = first
        return present(
            f"the input of step {step} holds {count:.0f} value(s) that are NaN or infinite{where}",
            step=step,
            count=count,
        )
    unobserved = _came_in_unobserved(run)
    if unobserved is not None:
        return present(f"a value that came in with the data of step {unobserved} is not finite", step=unobserved)
    trouble = first_trouble(run)
    if trouble is None:
        return absent() if run.trace.series("input.batch_size") else unmeasured()
    return absent() if inputs_seen_at(run, trouble) else unmeasured()


def _came_in_unobserved(run: Run) -> int | None:
    """The step whose data was not finite, where the graph of the loss tells, for its inputs were not looked at."""
    found = run.trace.facts("nonfinite.loss")
    producer = found[0].data.get("producer") if found else None
    if not producer or producer.get("kind") != "input" or found[0].data.get("bad_parameters"):
        return None
    return None if inputs_seen_at(run, found[0].step) else found[0].step


def _first_bad_input(run: Run) -> tuple[int, float, str] | None:
    """Step, count and place in the batch of the first values that came in and were not finite."""
    facts = [f for f in run.trace.facts("nonfinite.input") if not f.data.get("evaluation")]
    if facts:
        data = facts[0].data
        where = f", rows {_list(data['rows'])}" if data.get("rows") else ""
        where += f", features {_list(data['features'])}" if data.get("features") else ""
        return facts[0].step, float(data["count"]), where
    # On a device the values are counted and not located.
    series = run.series("input.nonfinite").of_kind("input")
    counts = np.nan_to_num(series.values, nan=0.0, posinf=1.0).sum(axis=1)
    rows = np.flatnonzero(counts > 0)
    trouble = first_trouble(run)
    if not rows.size or trouble is None or series.steps[rows[0]] > trouble:
        return None  # what comes after the first bad loss may be its echo: a model that reads its own output
    return int(series.steps[rows[0]]), float(counts[rows[0]]), ""


def _list(values: list[int]) -> str:
    return ", ".join(str(v) for v in values[:5]) + (" …" if len(values) > 5 else "")


def non_finite_begins_at_input(run: Run) -> Finding:
    """The first non-finite loss or gradient comes in the step of the first non-finite input, or just after."""
    first, trouble = _first_bad_input(run), first_trouble(run)
    step = _came_in_unobserved(run) if first is None else first[0]
    if step is None or trouble is None:
        return absent()
    return when(
        step <= trouble <= step + 2, f"it is the first value of the run that is not finite, at step {step}", step=step
    )


def inputs_out_of_scale(run: Run) -> Finding:
    """Inputs are tens of units from zero, or their spread is far from one."""
    if learns_despite_scale(run):
        return absent()
    found = model_inputs(run, "input.std")
    if not found:
        return unmeasured()
    means = {name: values for name, (_, values) in model_inputs(run, "input.mean").items()}
    worst: tuple[float, str] = (0.0, "")
    for name, (_, spread) in found.items():
        first = float(np.median(spread[:10]))
        center = float(np.median(np.abs(means.get(name, np.zeros(1))[:10])))
        size = math.hypot(first, center)
        if size > worst[0]:
            worst = (size, f"input {name} has mean {np.median(means[name][:10]):.3g} and spread {first:.3g}")
    return when(worst[0] > 8, f"{worst[1]} (healthy: about 0 and 1)", size=worst[0])


def inputs_far_off_scale(run: Run) -> Finding:
    """Inputs are a hundred units and more from zero."""
    if learns_despite_scale(run):
        return absent()
    found = model_inputs(run, "input.absmax")
    if not found:
        return unmeasured()
    worst = max((float(np.median(values[:10])), name) for name, (_, values) in found.items())
    return when(worst[0] > 100, f"input {worst[1]} reaches {worst[0]:.3g}", largest=worst[0])


def inputs_tiny(run: Run) -> Finding:
    """Every floating input has a spread below 0.02 and varies all the same."""
    if learns_despite_scale(run):
        return absent()
    found = model_inputs(run, "input.std")
    if not found:
        return unmeasured()
    largest = max(float(np.median(values[:10])) for _, values in found.values())
    return when(0 < largest < 0.02, f"inputs have a spread of {largest:.2g}", spread=largest)


def features_of_unequal_scale(run: Run) -> Finding:
    """The largest feature's spread is more than a hundred times the smallest's, and is not ordinary itself."""
    if learns_despite_scale(run):
        return absent()
    found = model_inputs(run, "input.feature_std_ratio")
    if not found:
        return unmeasured()
    largest = model_inputs(run, "input.feature_std_max")
    ratio, name = max((float(np.median(values[:10])), name) for name, (_, values) in found.items())
    peak = float(np.median(largest[name][1][:10])) if name in largest else 0.0
    return when(
        ratio > 100 and peak > 8, f"features of input {name} differ in spread by a factor of {ratio:.3g}", ratio=ratio
    )


def inputs_do_not_vary(run: Run) -> Finding:
    """Inputs are the same for every sample of a batch, or nearly all their features are."""
    constant = model_inputs(run, "input.constant_features")
    spreads = run.series("input.batch_spread").of_kind("input")
    if not spreads:
        return unmeasured()
    stds = run.series("input.std").of_kind("input")
    flat: list[Finding] = []
    varies = False
    for name in spreads.names:
        steps, spread = spreads.column(name)
        if spread.size < 3:
            continue
        _, own = stds.column(name)
        typical = float(np.median(spread))
        share = float(np.median(constant[name][1])) if name in constant else (1.0 if typical == 0 else 0.0)
        relative = (
            typical / float(np.median(own)) if own.size and np.median(own) > 0 else (0.0 if typical == 0 else 1.0)
        )
        _, zeros = run.series("input.zero_share").of_kind("input").column(name)
        empty = float(np.median(zeros)) if zeros.size else 0.0
        low = typical == 0 or share > 0.9 or (relative < 1e-3 and own.size > 0)
        varies = varies or not low
        if low:
            flat.append(
                present(
                    f"input {name} hardly varies: {100 * share:.0f} % of its features are equal in all samples, "
                    f"{100 * empty:.0f} % of its values are zero",
                    step=int(steps[0]),
                    share=share,
                    spread=typical,
                )
            )
    if flat and not varies:
        return flat[0]
    # A hidden state of zeros or a mask beside an input that varies is no fault, unless no layer sees that input.
    blind = _first_layers_read_a_constant(run)
    if blind is None:
        return absent()
    return present(f"'{blind}' reads the same number everywhere", step=int(run.series("module.input_std").steps[0]))


def _first_layers_read_a_constant(run: Run) -> str | None:
    """The first linear or convolution layer where all that read the data read one number; None otherwise.

    A graph's edges vary while its nodes carry no features; the layers see the features alone.
    """
    if run.loss is None or run.loss.count < FEW_ROWS or run.learned_to(_LEARNED):
        return None
    spreads, largest = early(run.trace, "module.input_std"), early(run.trace, "module.input_absmax")
    graph = flow_graph(run.trace)
    first = [
        place.name
        for place in run.trace.places
        if place.kind == "module"
        and place.details.get("kind") in LINEAR_KINDS
        and place.name in spreads
        and not (place.name in graph and any(graph.predecessors(place.name)))
    ]
    if not first or not graph.number_of_nodes():
        return None
    constant = [name for name in first if spreads[name] == 0 and math.isfinite(largest.get(name, math.inf))]
    return constant[0] if len(constant) == len(first) else None


def inputs_nearly_all_zero(run: Run) -> Finding:
    """More than 97 % of the input values are zero."""
    found = model_inputs(run, "input.zero_share")
    if not found:
        return unmeasured()
    share, name = min((float(np.median(values)), name) for name, (_, values) in found.items())
    return when(share > 0.97, f"{100 * share:.1f} % of the values of input {name} are zero", share=share)
