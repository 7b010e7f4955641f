"""Weights start at a scale that their fan-in does not ask for, or equal to each other.

## What it detects
A weight matrix whose initial spread times sqrt(fan-in) is above 3 or, for a layer inside the model, below 0.03;
matrices whose rows are all equal, or all zero with a zero gradient; hidden biases that start below -0.5; layers
that multiply the spread of an ordinary input by more than four.

## Why it matters
The scale decides whether signal and gradient keep their size over depth. Units that start equal get equal gradients and
stay equal: a wide layer then is one unit.

## Evidence
`parameter.initial_scale`, `parameter.initial_mean`, `parameter.row_spread`, `parameter.weight_norm`,
`parameter.gradient_norm`, `module.input_std`, `module.output_std`.

## When it is wrong
The last layer of a residual branch, a LoRA matrix or a policy head starts at or near zero on purpose; embeddings
have no fan-in and are left out.

## References
Glorot and Bengio 2010; He et al. 2015; usual values of spread × sqrt(fan-in): 0.58 (PyTorch's default) to 1.41 (He).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from neuraldbg.detectors._event import below, beyond, named, saw
from neuraldbg.measures.depth import early, late
from neuraldbg.measures.run import Run, owner_of
from neuraldbg.measures.wiring import output_layers
from neuraldbg.records import SemanticEvent

NEEDS = (
    "parameter.initial_scale",
    "parameter.initial_mean",
    "parameter.row_spread",
    "parameter.weight_norm",
    "parameter.gradient_norm",
    "module.input_std",
    "module.output_std",
)

#: Spread × sqrt(fan-in): twice He's, and a twentieth of PyTorch's default.
LARGE, SMALL = 3.0, 0.03
#: Output spread over input spread of a linear layer or convolution at step 0: 1.4 is He's.
GAIN = 4.0
NEGATIVE_BIAS = -0.5
#: Relative spread of rows; about 1 for an ordinary initialization.
EQUAL, STAYS_EQUAL = 1e-4, 1e-3


def detect(run: Run) -> Iterator[SemanticEvent]:
    yield from _scales(run)
    yield from _gains(run)
    yield from _equal_units(run)
    heads, series = output_layers(run), run.series("parameter.initial_mean")
    for index, name in enumerate(series.names):
        value, layer = float(series.first[index]), owner_of(name)
        if name.endswith("bias") and value < NEGATIVE_BIAS and layer not in heads:
            yield _event(
                run, f"'{name}' starts at {value:.2g}", layer, name, ("biases_start_negative",), 0.7, value=value
            )


def _scales(run: Run) -> Iterator[SemanticEvent]:
    series = run.series("parameter.initial_scale")
    kinds = {place.name: place.details.get("kind") for place in run.trace.places if place.kind == "module"}
    for index, name in enumerate(series.names):
        value, layer = float(series.first[index]), owner_of(name)
        matrix = name.rpartition(".")[2].startswith(("weight", "in_proj"))
        if not matrix or kinds.get(layer) in ("embedding", "norm") or not math.isfinite(value):
            continue
        words = f"'{name}' starts with a spread of {value:.2g}/sqrt(fan-in) (usual: 0.6 to 1.4)"
        if value > LARGE:
            yield _event(run, words, layer, name, ("initial_weights_large",), beyond(value, LARGE), scale=value)
        elif 0 < value < SMALL:
            yield _event(
                run,
                words,
                layer,
                name,
                ("a_layer_starts_small", "initial_weights_small"),
                below(value, SMALL),
                scale=value,
            )


def _gains(run: Run) -> Iterator[SemanticEvent]:
    inputs, outputs = early(run.trace, "module.input_std", 1), early(run.trace, "module.output_std", 1)
    for name, value in outputs.items():
        read = inputs.get(name, 0.0)
        linear = run.module_details(name).get("kind") in ("linear", "convolution")
        if linear and read > 0.05 and math.isfinite(value) and value > GAIN * read:
            words = f"{named(name)} multiplies the spread of its input by {value / read:.3g} at step 0"
            yield _event(
                run, words, name, None, ("outputs_large_at_start",), beyond(value / read, GAIN), gain=value / read
            )


def _equal_units(run: Run) -> Iterator[SemanticEvent]:
    series = run.series("parameter.row_spread")
    norms, last_norms = early(run.trace, "parameter.weight_norm", 2), late(run.trace, "parameter.weight_norm")
    gradients = late(run.trace, "parameter.gradient_norm")
    for place in series.places:
        _, spread = series.column(place.name)
        shape = place.details.get("shape", ())
        if len(shape) < 2 or shape[0] < 2 or not spread.size:
            continue
        name, layer = place.name, owner_of(place.name)
        stuck = norms.get(name, 1.0) == 0 and last_norms.get(name, 1.0) == 0 and gradients.get(name, 1.0) == 0
        findings: tuple[str, ...]
        if stuck:
            words, findings = (
                f"'{name}' is zero, gets no gradient, and stays zero",
                ("units_start_equal", "zero_weights_block_gradient"),
            )
        elif norms.get(name, 0.0) > 0 and spread[0] < EQUAL and spread[-1] < STAYS_EQUAL:
            words, findings = f"'{name}' is the same in every row, and stays so", ("units_start_equal",)
        else:
            continue
        yield _event(run, words, layer, name, findings, 0.95, row_spread=float(spread[-1]))


def _event(
    run: Run,
    words: str,
    layer: str,
    parameter: str | None,
    findings: tuple[str, ...],
    confidence: float,
    **numbers: float,
) -> SemanticEvent:
    return saw(
        "wiring_fault",
        "faulty",
        (0, max(0, run.trace.last_step)) if "stays" in words else (0, 0),
        words,
        layer=layer,
        parameter=parameter,
        findings=findings,
        confidence=confidence,
        numbers=numbers,
    )
