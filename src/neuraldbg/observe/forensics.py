"""Where a non-finite value was born, read from the graph of the very step in which it appears, before it is freed.

A node whose inputs are finite and whose output is not is the producer; the nodes above it only pass the value on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from neuraldbg.observe import autograd, kernels
from neuraldbg.observe.autograd import Node, operation

_OUTPUTS = ("result", "result0", "output", "result1")
#: Statistics that an operation saves beside its inputs: not finite as a consequence, never the reason.
_BYPRODUCTS = frozenset({"result1", "result2", "mean", "rstd", "logsumexp", "total_weight"})


def find_producer(root: Node, owners: Mapping[Node, list[str]], limit: int = 20000) -> dict[str, Any] | None:
    """The operation that made the first non-finite value of a forward pass.

    Returns None when every saved value is finite, else a mapping: ``operation``; ``kind`` ("operation", "input" when a
    value that needs no gradient came in bad, "constant" when such a value was added or
    subtracted, "parameter" when a weight is bad); ``module`` (nearest module at or above);
    ``producer`` (nearest module below); ``dtype``; ``largest_input`` (largest finite magnitude read); ``values``.
    """
    order = autograd.walk(root, limit)
    position = {node: index for index, node in enumerate(order)}
    bad: dict[Node, list[tuple[str, Tensor]]] = {}
    for node in order:
        if operation(node) == "Parameter":
            variable = getattr(node, "variable", None)
            held = kernels.held(variable) if isinstance(variable, Tensor) else None
            if held is not None and not _finite(held):
                bad[node] = [("variable", held)]
            continue
        wrong = [
            (name, value) for name, value in autograd.all_saved(node) if name not in _BYPRODUCTS and not _finite(value)
        ]
        if wrong:
            bad[node] = wrong
    if not bad:
        return _unsaved(root, owners, order)
    deepest = _deepest(bad, position)
    wrong = bad[deepest]
    if operation(deepest) == "Parameter":
        return _report("parameter", deepest, deepest, owners, order, wrong[0][1])
    names = {name for name, _ in wrong}
    if names <= set(_OUTPUTS):
        return _report("operation", deepest, deepest, owners, order, wrong[0][1])
    # One of its inputs is bad: its maker is below, and saved nothing bad itself, so its own inputs are finite.
    makers = [child for child in autograd.children(deepest) if child not in bad]
    index = _operand(deepest, wrong[0][0])
    slots = deepest.next_functions
    if index is not None and index < len(slots):
        maker = slots[index][0]
        if maker is None:
            return _report("input", deepest, deepest, owners, order, wrong[0][1])
        if maker not in bad:
            # What the maker reads may have been bad already, in an operation that saves only what it reads itself.
            below = _unsaved(maker, owners, order)
            return below or _report(_kind_of_maker(maker, wrong[0][1]), maker, deepest, owners, order, wrong[0][1])
    suspicious = [maker for maker in makers if operation(maker) in _HAZARDS]
    chosen = suspicious[0] if suspicious else (makers[0] if makers else None)
    if chosen is None or operation(chosen) == "Parameter":
        return _report("input", deepest, deepest, owners, order, wrong[0][1])
    return _report(_kind_of_maker(chosen, wrong[0][1]), chosen, deepest, owners, order, wrong[0][1])


#: Operations that save what they read, not what they give, and can be computed again from it.
_AGAIN = {
    "Log": torch.log, "Log2": torch.log2, "Log10": torch.log10, "Log1P": torch.log1p, "Acos": torch.acos,
    "Asin": torch.asin, "Atanh": torch.atanh, "Cosh": torch.cosh, "Sinh": torch.sinh,
}  # fmt: skip


def _unsaved(root: Node, owners: Mapping[Node, list[str]], order: list[Node]) -> dict[str, Any] | None:
    """The result is bad though everything saved is finite: an operation gave it that saves only what it reads.

    Looked for from the root down to the first operations that save something: below those, all is finite.
    """
    seen = {root}
    queue = [root]
    for node in queue:
        read = autograd.saved_tensor(node, "self")
        if operation(node) in _AGAIN and read is not None and not _finite(_AGAIN[operation(node)](read)):
            return _report("operation", node, node, owners, order, _AGAIN[operation(node)](read))
        left, right = read, autograd.saved_tensor(node, "other")
        if operation(node) == "Div" and left is None and right is not None and bool((right == 0).any()):
            # What is divided is saved only where the divisor is trained; by zero, whatever it is gives no number.
            return _report("operation", node, node, owners, order, right / right)
        if operation(node) == "Mean" and autograd.saved(node, "self_numel") == 0:
            return _report("operation", node, node, owners, order, torch.full((1,), torch.nan))
        if operation(node) in ("Div", "Mul") and left is not None and right is not None:
            with contextlib.suppress(RuntimeError):
                made = left / right if operation(node) == "Div" else left * right
                if not _finite(made):
                    return _report("operation", node, node, owners, order, made)
        if len(queue) < 200:
            for child in autograd.children(node):
                if child not in seen:
                    seen.add(child)
                    queue.append(child)
    return None


def _kind_of_maker(node: Node, value: Tensor) -> str:
    """ "constant" where a finite value plus one that needs no gradient is NaN: the latter was NaN, a target say."""
    if (
        operation(node) in ("Add", "Sub", "Rsub")
        and len(autograd.children(node)) == 1
        and bool(torch.isnan(value).any())
    ):
        return "constant"
    return "operation"


_HAZARDS = frozenset(
    {"Log", "Log2", "Log10", "Log1P", "Div", "Sqrt", "Rsqrt",
        "Reciprocal", "Exp", "Expm1", "Acos", "Asin", "Atanh", "Pow", "Softmax", "Std", "Mul"}
)  # fmt: skip
_OPERANDS = {"self": 0, "mat1": 0, "input": 0, "other": 1, "mat2": 1, "tensor1": 1, "tensor2": 2, "exponent": 1}


def _operand(node: Node, name: str) -> int | None:
    kind = operation(node)
    if kind == "Addmm":
        return {"mat1": 1, "mat2": 2}.get(name)
    return _OPERANDS.get(name)


def _deepest(bad: Mapping[Node, Any], position: Mapping[Node, int]) -> Node:
    """A bad node below which no other node is bad; the one furthest from the loss."""
    for node in sorted(bad, key=lambda item: -position[item]):
        seen = {node}
        stack = autograd.children(node)
        found = False
        while stack and not found:
            child = stack.pop()
            if child in seen:
                continue
            seen.add(child)
            if child in bad:
                found = True
                break
            stack.extend(autograd.children(child))
        if not found:
            return node
    return next(iter(bad))


def _report(
    kind: str, node: Node, reader: Node, owners: Mapping[Node, list[str]], order: list[Node], value: Tensor
) -> dict[str, Any]:
    reads = [tensor for name, tensor in autograd.all_saved(node) if name not in _OUTPUTS]
    finite = [tensor[torch.isfinite(tensor)] for tensor in reads]
    largest = max((float(tensor.abs().max()) for tensor in finite if tensor.numel()), default=None)
    smallest = min((float(tensor.abs().min()) for tensor in finite if tensor.numel()), default=None)
    return {
        "kind": kind,
        "operation": operation(node),
        "read_by": operation(reader),
        "module": _owner_at_or_above(node, owners, order),
        "producer": owner_below(node, owners),
        "dtype": str(value.dtype).removeprefix("torch."),
        "nan": int(torch.isnan(value).sum()),
        "inf": int(torch.isinf(value).sum()),
        "count": int(value.numel()),
        "largest_input": largest,
        "smallest_input": smallest,
    }


def _owner_at_or_above(node: Node, owners: Mapping[Node, list[str]], order: list[Node]) -> str | None:
    """The path of the first module output that depends on the node; None when the node belongs to the loss alone."""
    if node in owners:
        return owners[node][0]
    depends = {node}
    for candidate in reversed(order):
        if candidate in depends:
            continue
        if any(child in depends for child in autograd.children(candidate)):
            if candidate in owners:
                return owners[candidate][0]
            depends.add(candidate)
    return None


def owner_below(node: Node, owners: Mapping[Node, list[str]], limit: int = 2000) -> str | None:
    """The path of the nearest module output at or below a node."""
    seen = {node}
    queue = [node]
    for current in queue:
        if current in owners:
            return owners[current][0]
        for child in autograd.children(current):
            if child not in seen and len(queue) < limit:
                seen.add(child)
                queue.append(child)
    return None


def _finite(value: Tensor) -> bool:
    if value.numel() == 0 or not value.is_floating_point():
        return True
    return bool(
        torch.isfinite(value.sum(dtype=torch.float64 if value.dtype == torch.float64 else torch.float32))
    ) or bool(torch.isfinite(value).all())


def first_bad_gradients(named: list[tuple[str, Tensor]]) -> list[dict[str, Any]]:
    """Parameters whose gradient is not finite, with counts of NaN and Inf; of a sharded one those of its part here."""
    found = []
    for name, gradient in named:
        values = kernels.local(gradient.detach())
        if values.layout != torch.strided:
            values = values.coalesce().values()
        if not _finite(values):
            found.append(
                {
                    "parameter": name,
                    "nan": int(torch.isnan(values).sum()),
                    "inf": int(torch.isinf(values).sum()),
                    "count": int(values.numel()),
                }
            )
    return found
