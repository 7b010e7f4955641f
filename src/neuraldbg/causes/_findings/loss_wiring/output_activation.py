"""The activation between the model and the loss."""

from __future__ import annotations

import math

import numpy as np

from neuraldbg.causes._findings._answer import absent, present, unmeasured
from neuraldbg.measures.loss_structure import PLAIN, PROBABILITIES, RANGES, RESIDUAL, activation_layer
from neuraldbg.measures.run import Run
from neuraldbg.measures.wiring import source_of, terms_of
from neuraldbg.records import Finding


def softmax_before_loss(run: Run) -> Finding:
    """The loss applies softmax or sigmoid to what went through one already."""
    terms = terms_of(run)
    if not terms:
        return unmeasured()
    for stream, term in terms:
        chain = [name for name in term["chain"] if name not in PLAIN]
        if term["kind"] in ("cross_entropy", "ctc") and chain[:1] == ["LogSoftmax"]:
            rest, offset = chain[1:], 1
        elif term["kind"] == "binary_cross_entropy_with_logits":
            rest, offset = chain, 0
        elif term["kind"] == "binary_cross_entropy" and chain[:1] in (["Sigmoid"], ["Softmax"]):
            rest, offset = chain[1:], 1
        elif chain[:1] == ["Log"] and term["kind"] in ("other", "cross_entropy"):
            rest, offset = chain[2:], 2
        elif term["kind"] == "other" and chain[:1] == ["LogSoftmax"]:
            rest, offset = chain[1:], 1
        elif term["kind"] == "other" and chain[:1] in (["Softplus"], ["LogSigmoidForward"], ["LogSigmoid"]):
            # softplus(x) - y x is binary cross entropy by hand: x are logits.
            rest, offset = chain[1:], 1
        elif len(chain) > 1 and chain[0] in PROBABILITIES and chain[1] in PROBABILITIES:
            rest, offset = chain[1:], 1
        else:
            continue
        twice = next((i for i, name in enumerate(rest[:2]) if name in PROBABILITIES), None)
        if twice is None:
            continue
        name = rest[twice]
        classes = term.get("class_count")
        floor = (
            f"; with {classes} classes it cannot go below {math.log(1 + (classes - 1) / math.e):.2f}" if classes else ""
        )
        return present(
            f"the loss ({term['operation']}) takes the {'softmax' if offset else 'sigmoid'} of outputs that went through "
            f"{name.lower()} already{floor}",
            layer=activation_layer(term, offset + twice),
            source=source_of(run, stream),
        )
    return absent()


def output_activation_out_of_reach(run: Run) -> Finding:
    """The last activation cannot give what the targets ask for, and the loss stays for it."""
    terms = terms_of(run)
    if not terms:
        return unmeasured()
    if run.learned_to(0.1):
        return absent()
    for stream, term in terms:
        chain = [name for name in term["chain"] if name not in PLAIN]
        layer_index = 0
        if term["kind"] == "cross_entropy" and chain[:1] == ["LogSoftmax"]:
            chain, layer_index = chain[1:], 1
        if not chain or chain[0] not in RANGES:
            continue
        low, high = RANGES[chain[0]]
        layer = activation_layer(term, layer_index)
        if term["kind"] in RESIDUAL:
            _, smallest = run.series("target.min").column(stream)
            _, largest = run.series("target.max").column(stream)
            _, spread = run.series("target.std").column(stream)
            if not smallest.size:
                continue
            # Noise around a bound that suits the targets is no fault.
            margin = 0.5 * max(float(np.median(spread)), 1e-12)
            below, above = float(np.median(smallest)), float(np.median(largest))
            if below < low - margin or above > high + max(
                margin, 0.02 * (high - low if math.isfinite(high - low) else 0)
            ):
                bound = f"{low:g} to {high:g}"
                return present(
                    f"the output goes through {chain[0].lower()} ({bound}), and the targets run from {below:.3g} to {above:.3g}",
                    layer=layer,
                    source=source_of(run, stream),
                    target_min=below,
                    target_max=above,
                )
        elif term["kind"] == "binary_cross_entropy_with_logits" and chain[0] in (
            "Relu",
            "Threshold",
            "Softplus",
            "Exp",
        ):
            return present(
                f"the logits go through {chain[0].lower()}: a negative one cannot be produced, and no probability below 0.5",
                layer=layer,
                source=source_of(run, stream),
            )
        elif term["kind"] == "cross_entropy" and chain[0] in ("Relu", "Tanh", "Threshold", "Hardtanh", "LogSigmoid"):
            return present(
                f"the logits go through {chain[0].lower()} before the loss, which limits what they can say",
                layer=layer,
                source=source_of(run, stream),
            )
        elif term["kind"] == "binary_cross_entropy_with_logits" and chain[0] in ("Tanh", "Hardtanh", "LogSoftmax"):
            return present(
                f"the logits go through {chain[0].lower()} before the loss", layer=layer, source=source_of(run, stream)
            )
    return absent()


def softmax_over_one_class(run: Run) -> Finding:
    """A softmax (or cross entropy) over a single output: constant, whatever the weights."""
    for stream, term in terms_of(run):
        chain = term["chain"]
        size = (term.get("prediction_shape") or [0])[-1]
        single = 1 in (term.get("class_count"), term.get("softmax_width")) or (
            size == 1 and chain[:1] in (["Softmax"], ["LogSoftmax"])
        )
        if single and any("oftmax" in name for name in chain):
            return present(
                "the softmax runs over a single output and is constant",
                layer=activation_layer(term, 0),
                source=source_of(run, stream),
            )
    return absent() if terms_of(run) else unmeasured()
