"""Reading the autograd graph of a real step: names, shapes, saved tensors, and walks.

Nothing here runs or changes the graph. A saved tensor that was modified in place, freed, or hidden behind saved-tensor
hooks (activation checkpointing) is left alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from neuraldbg.observe import kernels

Node = Any

#: Operations that only rearrange or copy elements: the values on both sides are the same numbers.
REARRANGING = frozenset(
    {
        "View", "UnsafeView", "Reshape", "ReshapeAlias", "Squeeze", "Unsqueeze", "Transpose", "Permute", "T", "Expand",
        "Clone", "Alias", "Select", "Slice", "Index", "Narrow", "ToCopy", "AsStrided", "Unbind", "Split",
        "SplitWithSizes", "Movedim", "Unfold", "Repeat", "CopySlices", "Copy", "Contiguous", "Swapdims", "Flip", "Roll",
        "Cat", "Stack", "Chunk", "IndexSelect", "Gather", "Take", "MaskedSelect", "Detach", "Flatten", "Mt", "H",
    }
)  # fmt: skip

_top_hooks = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", None)
_reading = threading.local()


class LeftAlone(RuntimeError):
    """Instead of unpacking a tensor for us that was saved through hooks."""


def leave_alone(unpack: Callable[[Any], Tensor]) -> Callable[[Any], Tensor]:
    """An unpack hook that refuses while we read a graph.

    The hook of activation checkpointing runs a forward again, which may draw random numbers; one that loads from disk
    is slow. What they hold is not worth that.
    """

    def guarded_unpack(packed: Any) -> Tensor:
        if getattr(_reading, "now", False):
            raise LeftAlone("saved through hooks")
        return unpack(packed)

    guarded_unpack.left_alone = True  # type: ignore[attr-defined]
    return guarded_unpack


def saved_tensors_are_hooked() -> bool:
    """Whether saved tensors go now through hooks that would run if we read them."""
    if _top_hooks is None:
        return False
    try:
        top = _top_hooks(True)
    except (TypeError, RuntimeError):
        return False
    return top is not None and not getattr(top[1], "left_alone", False)


def operation(node: Node) -> str:
    """``Relu`` for ReluBackward0, ``Parameter`` for AccumulateGrad."""
    name: str = node.name()
    name = name.rsplit("::", 1)[-1]
    if name == "AccumulateGrad":
        return "Parameter"
    return name.split("Backward")[0]


def shape(node: Node) -> tuple[int, ...] | None:
    """Shape of the node's (first) output in the forward; None where it is not known."""
    try:
        metadata = node._input_metadata
        return tuple(int(size) for size in metadata[0].shape) if metadata else None
    except (AttributeError, RuntimeError, IndexError, TypeError):
        return None


def children(node: Node) -> list[Node]:
    """The nodes whose outputs this one read (None for inputs that need no gradient are left out)."""
    return [child for child, _ in node.next_functions if child is not None]


def saved(node: Node, name: str) -> Any:
    """A saved value (``result``, ``self``, ``other``, ``target`` ...), or None where it cannot be read."""
    _reading.now = True
    try:
        return getattr(node, f"_saved_{name}", None)
    except RuntimeError:
        return None
    finally:
        _reading.now = False


def saved_tensor(node: Node, name: str) -> Tensor | None:
    """A saved tensor as far as this process holds it, or None where it cannot be read."""
    value = saved(node, name)
    return kernels.held(value) if isinstance(value, Tensor) else None


def all_saved(node: Node) -> Iterator[tuple[str, Tensor]]:
    """Every saved dense floating tensor of a node."""
    for attribute in dir(node):
        if attribute.startswith("_saved_"):
            value = saved(node, attribute[7:])
            values = value if isinstance(value, (tuple, list)) else (value,)
            for item in values:
                if isinstance(item, Tensor) and item.is_floating_point() and item.layout == torch.strided:
                    held = kernels.held(item)
                    if held is not None:
                        yield attribute[7:], held


def walk(root: Node, limit: int = 20000) -> list[Node]:
    """Every node below ``root``, root first, breadth first, each once; stops after ``limit``."""
    seen = {root}
    order = [root]
    for node in order:
        if len(order) >= limit:
            break
        for child, _ in node.next_functions:
            if child is not None and child not in seen:
                seen.add(child)
                order.append(child)
    return order


def skip_rearranging(node: Node) -> Node:
    """The first node at or below ``node`` that does more than rearrange its one input."""
    for _ in range(50):
        below = children(node)
        if len(below) != 1 or operation(node) not in REARRANGING:
            return node
        node = below[0]
    return node
