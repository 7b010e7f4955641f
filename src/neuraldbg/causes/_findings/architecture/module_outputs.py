"""What modules make of what they read: too much, nothing, or values that are not finite."""

from __future__ import annotations

import math

import numpy as np

from neuraldbg.causes._findings._answer import absent, present, unmeasured, when
from neuraldbg.measures.activations import saturated_at_start
from neuraldbg.measures.depth import early, late
from neuraldbg.measures.run import Run
from neuraldbg.records import Fact, Finding

#: Words in the names of operations that read what other ranks hold, without underscores.
_EXCHANGES = (
    "totorchtensor",
    "fromtorchtensor",
    "redistribute",
    "allreduce",
    "allgather",
    "alltoall",
    "reducescatter",
    "waittensor",
)

#: Share of the largest entry of the input that a spread of outputs has to exceed: that of ordinary inputs reaches three
#: to four times their spread, so that a gain of four is beyond it; where all entries lie far from zero, one of four is not.
_OF_THE_LARGEST = 0.7


def outputs_collapse(run: Run) -> Finding:
    """Some module's output is the same for all samples late in the run, though its input varies."""
    across, spread = late(run.trace, "module.output_batch_spread"), early(run.trace, "module.output_batch_spread")
    if not across:
        return unmeasured()
    stuck = saturated_at_start(run)
    hit = [
        name
        for name, value in across.items()
        if spread.get(name, 0) > 1e-6 and value < 1e-3 * spread[name] and name not in stuck
    ]
    return when(
        bool(hit),
        f"the output of '{hit[0] if hit else ''}' is the same for every sample",
        layer=hit[0] if hit else None,
    )


#: Late over early share of the samples in an output's spread below which what a module says of a sample has faded. Nine
#: in ten healthy runs of FaultBench keep at least 0.79 of it everywhere; labels that are noise leave it at 0.95.
_FADED = 0.25


def representations_fade(run: Run) -> Finding:
    """Some module's outputs come to differ between samples far less than they did, for the spread that they have."""
    across, spread = early(run.trace, "module.output_batch_spread", 1), early(run.trace, "module.output_std", 1)
    late_across, late_spread = late(run.trace, "module.output_batch_spread"), late(run.trace, "module.output_std")
    kept = {
        name: (late_across[name] / late_spread[name]) / (value / spread[name])
        for name, value in across.items()
        if value > 1e-6 and spread.get(name, 0.0) > 0 and name in late_across and late_spread.get(name, 0.0) > 0
    }
    stuck = saturated_at_start(run)
    kept = {name: share for name, share in kept.items() if math.isfinite(share) and name not in stuck}
    if not kept:
        return unmeasured()
    name = min(kept, key=lambda one: kept[one])
    return when(
        kept[name] < _FADED,
        f"what '{name}' gives differs between samples by {kept[name]:.2g} of what it did at the start",
        layer=name,
        kept=kept[name],
    )


def outputs_large_at_start(run: Run) -> Finding:
    """A module turns an ordinary input into outputs more than four times as large, at step 0.

    An input far from zero for its spread gives a large spread by its mean, whatever the weights.
    """
    if run.start_did_no_harm():
        return absent()
    inputs, outputs = early(run.trace, "module.input_std", 1), early(run.trace, "module.output_std", 1)
    largest = early(run.trace, "module.input_absmax", 1)
    if not outputs:
        return unmeasured()
    best = (0.0, "")
    for name, value in outputs.items():
        if run.module_details(name).get("kind") not in ("linear", "convolution") or not math.isfinite(value):
            continue
        if inputs.get(name, 0) > 0.05 and value > _OF_THE_LARGEST * largest.get(name, 0.0):
            # Beside a mean far from zero the spread alone is no measure of an input's size.
            best = max(best, (value / max(inputs[name], largest.get(name, 0.0) / 5), name))
    return when(
        best[0] > 4,
        f"'{best[1]}' multiplies the spread of its input by {best[0]:.3g} at step 0",
        layer=best[1],
        gain=best[0],
    )


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
        if place.name in half.position and float(np.nanmax(half.values[:, half.position[place.name]])) == 16.0:
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
            if facts and facts[0].step == step and (facts[0].data.get("bad_parameters") or _from_others(facts[0])):
                return absent()
            return present(
                f"'{place.name}' gives values that are not finite at step {step}, from ordinary inputs",
                step=step,
                layer=place.name,
            )
        return absent()
    return absent()


def _from_others(born: Fact) -> bool:
    """Whether the first value that is not finite came out of an exchange with other ranks."""
    operation = str((born.data.get("producer") or {}).get("operation", "")).lower().replace("_", "")
    return any(name in operation for name in _EXCHANGES)


def outputs_overflow_at_once(run: Run) -> Finding:
    """At step 0, with untouched weights and ordinary inputs, outputs reach 1e4 times the inputs' size or overflow."""
    if run.start_did_no_harm():
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
