"""Something cuts the graph, so that what lies above it gets no gradient."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from bench.faultbench.injectors._base import injector, label, single
from bench.faultbench.places import on_tensors, parents, patch_forward, run_order, weighted
from bench.faultbench.recipe import Recipe

CUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "detach": lambda x: x.detach(),
    "data": lambda x: x.data,
    "numpy": lambda x: torch.from_numpy(x.detach().float().numpy().copy()),
    "tensor": lambda x: x.detach().clone().requires_grad_(True) if x.requires_grad else x.clone(),
    "list": lambda x: torch.tensor(x.tolist()),
    "no_grad": lambda x: x,
}


@injector("detached_graph", applies=single, judge="structure")
def detached_graph(recipe: Recipe, rng: random.Random, strength: float) -> None:
    """Cut inside the forward of a module (its own output is cut) or on the way into the next (its input is)."""
    paths = weighted(recipe)
    how = rng.choice(list(CUTS))
    index = rng.randrange(max(1, len(paths) - 1))
    inside = rng.random() < 0.5 or how == "no_grad" or len(paths) < 2
    above, below = paths[index], paths[min(index + 1, len(paths) - 1)]

    def cut(model: nn.Module) -> None:
        def own(forward: Callable[..., Any]) -> Callable[..., Any]:
            def call(*inputs: Any, **more: Any) -> Any:
                if how == "no_grad":
                    with torch.no_grad():
                        return forward(*inputs, **more)
                return on_tensors(CUTS[how], forward(*inputs, **more))

            return call

        def entry(forward: Callable[..., Any]) -> Callable[..., Any]:
            return lambda *inputs, **more: forward(*on_tensors(CUTS[how], inputs), **more)

        patch_forward(model, above if inside else below, own if inside else entry)

    # The last module before the cut, what holds it, and whatever runs between it and the next one.
    order = [name for name, _ in run_order(recipe)]
    between = order[order.index(above) + 1 : order.index(below)] if above != below else []
    upstream = paths[:index]
    recipe.after_build.append(cut)
    places = (above, *parents(above), *between, *upstream, "")
    label(recipe, "detached_graph", f"{how} {'inside' if inside else 'before'}", tuple(dict.fromkeys(places)))
