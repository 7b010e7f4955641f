"""The data flow between module outputs, the activations between them, and operations near the edge of their domain.

Facts: ``model.flow`` (edges between module paths with the operations on the way).
Quantities (place kind ``activation``; place name ``<producer>:<operation>``): ``activation.zero_share``,
``activation.dead_units`` (share of units that are zero on the whole batch), ``activation.saturated_share`` (sigmoid and
tanh within 1e-2 of a bound, softmax rows whose largest entry exceeds 0.99), ``activation.entropy`` (softmax rows, over
the largest possible), ``activation.std``, ``activation.nonfinite``, ``domain.margin`` (smallest distance of an argument
from the edge of an operation's domain), ``domain.largest`` (largest value of an exponential).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from neuraldbg.observe import autograd, kernels
from neuraldbg.observe.autograd import Node, operation, saved, saved_tensor
from neuraldbg.observe.pending import Pending

ACTIVATIONS = frozenset(
    {"Relu", "Threshold", "Sigmoid", "Tanh", "Softmax", "Hardtanh", "Hardsigmoid", "LeakyRelu", "Gelu", "Silu", "Elu"}
)
#: Operations with a domain or a range that can be left, and the saved value that tells how near it is.
DOMAINS: Mapping[str, tuple[str, str]] = {
    "Log": ("self", "positive"),
    "Log2": ("self", "positive"),
    "Log10": ("self", "positive"),
    "Log1P": ("self", "above_minus_one"),
    "Sqrt": ("result", "positive"),
    "Rsqrt": ("result", "finite"),
    "Reciprocal": ("result", "finite"),
    "Div": ("other", "nonzero"),
    "Exp": ("result", "finite"),
    "Expm1": ("result", "finite"),
    "Acos": ("self", "inside_one"),
    "Asin": ("self", "inside_one"),
    "Atanh": ("self", "inside_one"),
    "LinalgVectorNorm": ("result", "positive"),
    "Norm": ("result", "positive"),
    "Std": ("result", "positive"),
    "Pow": ("self", "power"),
    "Cosh": ("result", "finite"),
    "Sinh": ("result", "finite"),
    "Cdist": ("result", "positive"),
}


_PRODUCTS = frozenset({"Mul", "Mm", "Bmm", "Div", "Matmul"})


@dataclass(frozen=True)
class Site:
    """An operation of interest in the graph."""

    node: Node
    operation: str
    #: Path of the module whose output it is, or None for a functional call.
    module: str | None
    #: Path of the nearest module upstream.
    producer: str | None


def trace_flow(
    roots: list[Node],
    owners: Mapping[Node, list[str]],
    has_parameters: Callable[[str], bool],
    limit: int = 20000,
) -> tuple[list[tuple[str, str, list[str]]], list[Site], bool]:
    """Edges (source, target, operations) between module outputs, the sites met, and whether the walk was complete.

    Walks down from the loss. ``owners`` maps the node of a module's output to the paths that produced it, innermost
    first. "<loss>" stands for the root; a path that ends without a module, at a leaf, is an edge from "<parameter>".

    A module without parameters that is called several times, one activation for all layers, is passed through like the
    function that it stands for: as one node it would tie all layers into a loop.
    """
    counts = _own_names(owners)
    shared = {path for path, count in counts.items() if count > 1 and not has_parameters(path)}
    everyone, owners = owners, _without(owners, shared)
    order = _walk_many(roots, limit)
    nearest: dict[Node, list[str]] = {}
    edges: dict[tuple[str, str], list[str]] = {}
    sites: list[Site] = []
    # From the leaves up: what is the nearest module output below each node, and by which operations.
    below: dict[Node, dict[str, tuple[str, ...]]] = {}
    for node in reversed(order):
        reached: dict[str, tuple[str, ...]] = {}
        for child in autograd.children(node):
            paths = owners.get(child)
            if paths:
                reached.setdefault(paths[0], ())
            else:
                name = _recorded_name(child)
                for source, operations in below.get(child, {}).items():
                    here = operations if name in autograd.REARRANGING else (*operations, name)
                    if source in reached:
                        # Two ways between the same two modules, a branch and its shortcut: all that lies on either.
                        here = (*(one for one in here if one not in reached[source]), *reached[source])
                    elif len(reached) >= 8:
                        continue
                    reached[source] = here[-12:]
        below[node] = reached
        nearest[node] = list(reached)
    for node in order:
        paths = owners.get(node)
        if paths:
            # The operation that gives a module's output lies on the way to it: a container may end in a sine.
            own = [] if operation(node) in autograd.REARRANGING else [_recorded_name(node)]
            for source, operations in below[node].items():
                edges.setdefault((source, paths[0]), [*operations, *own])
        kind = operation(node)
        if kind in ACTIVATIONS or kind in DOMAINS:
            called = everyone.get(node)
            sites.append(Site(node, kind, called[0] if called else None, nearest[node][0] if nearest[node] else None))
    for root in roots:
        for source, operations in below.get(root, {}).items():
            name = operation(root)
            edges.setdefault((source, "<loss>"), [*operations, name])
        if root in owners:
            edges.setdefault((owners[root][0], "<loss>"), [])
    return [(source, target, operations) for (source, target), operations in edges.items()], sites, len(order) < limit


def _without(owners: Mapping[Node, list[str]], shared: set[str]) -> Mapping[Node, list[str]]:
    if not shared:
        return owners
    kept = {node: [path for path in paths if path not in shared] for node, paths in owners.items()}
    return {node: paths for node, paths in kept.items() if paths}


def _recorded_name(node: Node) -> str:
    """A product with a constant (a mask, an adjacency matrix, a scale) is linear, and its name says so."""
    name = operation(node)
    if name == "LeakyRelu" and autograd.saved(node, "negative_slope") == 1.0:
        return "Constant" + name
    constant = name in _PRODUCTS and len(autograd.children(node)) == 1
    return "Constant" + name if constant and not _by_other_values(node, name) else name


def _by_other_values(node: Node, name: str) -> bool:
    """Whether each entry is multiplied by another number, one that varies with the sample: the input itself, say."""
    if name != "Mul":
        return False
    other = autograd.saved(node, "other")
    if other is None:
        other = autograd.saved(node, "self")
    return isinstance(other, Tensor) and other.dim() >= 2 and tuple(other.shape) == autograd.shape(node)


def _own_names(owners: Mapping[Node, list[str]]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for paths in owners.values():
        counts[paths[0]] = counts.get(paths[0], 0) + 1
    return counts


def _walk_many(roots: list[Node], limit: int) -> list[Node]:
    """Topological order, roots first: every node comes before all that it reads."""
    order: list[Node] = []
    state: dict[Node, int] = {}
    for root in roots:
        stack: list[tuple[Node, int]] = [(root, 0)]
        while stack:
            node, phase = stack.pop()
            if phase == 1:
                order.append(node)
                continue
            if node in state or len(state) > limit:
                continue
            state[node] = 1
            stack.append((node, 1))
            stack.extend((child, 0) for child in autograd.children(node) if child not in state)
    order.reverse()
    return order


def measure_site(pending: Pending, place: int, site: Site) -> None:
    """Numbers about one activation or domain operation; silent where its values cannot be read."""
    if site.operation in ACTIVATIONS:
        _measure_activation(pending, place, site)
    if site.operation in DOMAINS:
        _measure_domain(pending, place, site)


def _measure_activation(pending: Pending, place: int, site: Site) -> None:
    result = saved_tensor(site.node, "result")
    if result is None or not kernels.is_number_tensor(result):
        return
    if site.operation == "Softmax":
        dimension = saved(site.node, "dim")
        dimension = int(dimension) if isinstance(dimension, int) and dimension < 2**31 else -1
        size = result.shape[dimension] if result.dim() else 1
        if size < 2:
            return
        table = kernels.unit_view(kernels.rows(result, 65536), dimension)
        top = table.amax(1)
        pending.add("activation.saturated_share", place, kernels.share(top > 0.99))
        entropy = torch.special.entr(table.clamp_min(0)).sum(1).mean() / math.log(size)
        pending.add("activation.entropy", place, entropy)
        pending.add("activation.nonfinite", place, kernels.share(~torch.isfinite(top)))
        return
    values = kernels.flat(result)
    pending.add("activation.std", place, values.std(correction=0))
    if site.operation in ("Sigmoid", "Hardsigmoid"):
        pending.add("activation.saturated_share", place, kernels.share((values < 0.01) | (values > 0.99)))
    elif site.operation in ("Tanh", "Hardtanh"):
        pending.add("activation.saturated_share", place, kernels.share(values.abs() > 0.99))
    elif site.operation in ("Relu", "Threshold"):
        pending.add("activation.zero_share", place, kernels.share(values == 0))
        if result.dim() >= 2 and result.shape[0] * result[0].numel() > result.shape[-1]:
            block = kernels.rows(result, 65536)
            units = kernels.unit_view(
                block, 1 if result.dim() >= 4 or _channels_first(site, result) else result.dim() - 1
            )
            pending.add("activation.dead_units", place, kernels.share(units.amax(0) == 0))


def _channels_first(site: Site, result: Tensor) -> bool:
    """A 3-d activation of a 1-d convolution counts its channels in dimension 1."""
    node = site.node
    for _ in range(4):
        below = autograd.children(node)
        if not below:
            return False
        node = below[0]
        name = operation(node)
        if name in ("Convolution", "MkldnnConvolution", "NativeBatchNorm", "ConvolutionOverrideable", "Squeeze"):
            return result.dim() >= 3
    return False


def _measure_domain(pending: Pending, place: int, site: Site) -> None:
    name, rule = DOMAINS[site.operation]
    value = saved_tensor(site.node, name)
    if value is None or not kernels.is_number_tensor(value):
        return
    if rule == "power":
        exponent = saved(site.node, "exponent")
        if not isinstance(exponent, (int, float)) or exponent >= 1:
            return
        rule = "positive"
    low, high = torch.aminmax(value)
    if rule == "finite":
        pending.add("domain.largest", place, torch.maximum(high.abs(), low.abs()).float())
        return
    margins = {
        "positive": low,
        "above_minus_one": low + 1,
        "nonzero": value.abs().amin() if rule == "nonzero" else low,
        "inside_one": 1 - torch.maximum(high, -low),
    }
    pending.add("domain.margin", place, margins[rule].float())
