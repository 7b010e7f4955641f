"""Units at the bounds of a sigmoid or tanh, and one-hot inner softmaxes."""

from __future__ import annotations

import numpy as np

from neuraldbg.causes._findings._answer import absent, present, unmeasured
from neuraldbg.measures.activations import BOUNDED, activation_sites, layer_of
from neuraldbg.measures.depth import early
from neuraldbg.measures.run import Run
from neuraldbg.records import Finding, Place


def _sites_inside(run: Run, found: list[tuple[float, Place]]) -> list[tuple[float, Place]]:
    """Without the output activation: saturation of a confident prediction is no fault."""
    outputs = set()
    for curve in run.curves:
        for term in curve.terms:
            if term.get("chain"):
                outputs.update({term.get("producer")})
    return [(value, place) for value, place in found if place.details.get("producer") not in outputs]


def units_saturated_from_start(run: Run) -> Finding:
    """More than half of a sigmoid's or tanh's units sit within 1e-2 of a bound in the first step.

    The output's too: a prediction that was never trained has no reason to be sure.
    """
    found = activation_sites(run, "activation.saturated_share", BOUNDED, "early")
    if not run.series("module.output_std"):
        return unmeasured()
    hit = [(value, place) for value, place in found if value > 0.5]
    if not hit:
        return absent()
    value, place = max(hit, key=lambda item: item[0])
    return present(
        f"{100 * value:.0f} % of the units of '{layer_of(place)}' sit at the bounds of {place.details['operation'].lower()} from the first steps",
        layer=layer_of(place),
        share=value,
    )


def nearly_all_units_saturated_from_start(run: Run) -> Finding:
    """More than four in five of a sigmoid's or tanh's units sit at a bound before the first update."""
    found = units_saturated_from_start(run)
    share = found.numbers.get("share", 0.0)
    if found.present is None:
        return unmeasured()
    if not found.present or share <= 0.8:
        return absent()
    return present(found.sentence, layer=found.layer, share=share)


def units_saturate_later(run: Run) -> Finding:
    """More than half of a sigmoid's or tanh's units end at a bound, having begun free."""
    found = _sites_inside(run, activation_sites(run, "activation.saturated_share", BOUNDED, "late"))
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
        f"{100 * value:.0f} % of the units of '{layer_of(place)}' saturate from step {step} on",
        layer=layer_of(place),
        step=step,
    )


def softmax_one_hot_from_start(run: Run) -> Finding:
    """An inner softmax is one-hot in most rows in the first steps."""
    found = _sites_inside(run, activation_sites(run, "activation.saturated_share", {"Softmax"}, "early"))
    if not run.series("module.output_std"):
        return unmeasured()
    hit = [(value, place) for value, place in found if value > 0.4]
    if not hit:
        return absent()
    value, place = max(hit, key=lambda item: item[0])
    return present(
        f"the softmax after '{layer_of(place)}' is one-hot in {100 * value:.0f} % of its rows from the first steps",
        layer=layer_of(place, prefer_module=True),
        share=value,
    )
