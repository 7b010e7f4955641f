"""Traces made by hand: of any number of layers and steps, in memory or as a file, without training anything."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from neuraldbg.records import Block, Fact, Place, Trace
from neuraldbg.trace_store import TraceWriter

QUANTITIES = ("module.output_gradient_norm", "activation.dead_units", "activation.saturated_share")


def recorded(layers: Sequence[str], steps: int, every: int = 1, broken_from: int | None = None, seed: int = 0) -> Trace:
    """A run of a chain of layers whose gradient shrinks towards the input, observed at each ``every``-th step.

    From step ``broken_from`` on the loss and all gradients are infinite.
    """
    random = np.random.default_rng(seed)
    count, observed = len(layers), np.arange(0, steps, every)
    places = [Place(i, "module", name, {"class": "Linear", "leaf": True}) for i, name in enumerate(layers)]
    places += [Place(count + i, "activation", f"{name}:Relu", {"module": name}) for i, name in enumerate(layers)]
    places += [Place(2 * count + i, "parameter", f"{name}.weight", {}) for i, name in enumerate(layers)]
    others = {
        "loss.value": "loss",
        "optimizer.learning_rate": "optimizer",
        "input.std": "input",
        "gradient.norm": "run",
    }
    places += [
        Place(3 * count + i, kind, "[0]" if kind == "input" else kind, {"argument": "0", "module": ""})
        for i, kind in enumerate(others.values())
    ]
    gradients = 10.0 ** (-0.1 * np.arange(count)[::-1]) * random.uniform(0.9, 1.1, (len(observed), count))
    loss = 2.0 / (1.0 + observed / max(steps, 1)) + 0.01 * random.standard_normal(len(observed))
    if broken_from is not None:
        gradients[observed >= broken_from] = np.inf
        loss = np.where(observed >= broken_from, np.inf, loss)
    modules = np.arange(count)

    def block(first: int, values: np.ndarray) -> list[Block]:
        return [Block(observed, modules + first, values)]

    blocks = {
        "module.output_gradient_norm": block(0, gradients),
        "activation.dead_units": block(count, random.uniform(0, 0.3, gradients.shape)),
        "activation.saturated_share": block(count, random.uniform(0, 0.2, gradients.shape)),
        "parameter.update_norm": block(2 * count, random.uniform(1e-3, 2e-3, gradients.shape)),
        "parameter.weight_norm": block(2 * count, np.ones(gradients.shape)),
    }
    for position, quantity in enumerate(others):
        values = loss if quantity == "loss.value" else np.full(len(observed), 0.1)
        blocks[quantity] = [Block(observed, np.array([3 * count + position]), values[:, None])]
    edges = [[a, b, []] for a, b in pairwise(layers)] + [[layers[-1], "<loss>", []]]
    facts = [
        Fact("model.flow", 0, None, {"edges": edges}),
        Fact("optimizer.settings", 0, places[3 * count + 1], {"class": "SGD", "groups": [{"lr": 0.1}]}),
    ]
    meta = {"script": "train.py", "last_step": steps - 1, "torch": "2.13.0", "finished": "2026-01-01T00:00:00+00:00"}
    return Trace(places, (), facts, meta, blocks)


def write(trace: Trace, path: Path) -> Path:
    """The trace as a file; its run has ended."""
    writer = TraceWriter(path, {name: value for name, value in trace.meta.items() if name != "finished"})
    numbers = {place.identifier: writer.place(place.kind, place.name, place.details) for place in trace.places}
    for fact in (fact for name in ("model.flow", "optimizer.settings") for fact in trace.facts(name)):
        writer.fact(fact.name, fact.step, None if fact.place is None else numbers[fact.place.identifier], fact.data)
    for quantity in trace.quantities:
        series = trace.series(quantity)
        identifiers = [numbers[place.identifier] for place in series.places]
        for step, row in zip(series.steps.tolist(), series.values.tolist()):
            writer.observe(quantity, step, identifiers, row)
    writer.set_meta("last_step", trace.last_step)
    writer.close()
    assert writer.failure is None and os.path.exists(path)
    return path
