"""Measures of likeness that are written by hand: a cosine, an overlap. Read from the autograd graph."""

from __future__ import annotations

from neuraldbg.observe import autograd
from neuraldbg.observe.autograd import Node, children, operation

_NORMS = frozenset({"LinalgVectorNorm", "Norm", "Frobeniusnorm"})
#: Operations between a quotient and the norm or the sum that it is divided by.
_BETWEEN = 4


def similarity_of(node: Node) -> str | None:
    """``"cosine"`` for a sum of products of normalized vectors, ``"overlap"`` for a shared share (Dice, IoU), or None.

    Cosine: as ``torch.nn.functional.cosine_similarity``, or ``normalize`` of both and a sum over the product. Overlap:
    the sum of a product over a sum of sums (Milletari et al. 2016).
    """
    name = operation(node)
    if name == "Sum":
        product = _below(node)
        if operation(product) == "Mul" and any(_is_normalized(factor) for factor in children(product)):
            return "cosine"
    if name == "Div" and len(children(node)) == 2:
        above, below = (autograd.skip_rearranging(child) for child in children(node))
        if operation(above) == "Sum" and operation(_below(above)) == "Mul" and _reaches(below, _NORMS):
            return "cosine"
        if _is_sum_of_product(above) and _adds_sums(below):
            return "overlap"
    return None


def _below(node: Node) -> Node:
    return autograd.skip_rearranging(children(node)[0]) if children(node) else node


def _is_normalized(node: Node) -> bool:
    node = autograd.skip_rearranging(node)
    return operation(node) == "Div" and len(children(node)) == 2 and _reaches(children(node)[1], _NORMS)


def _reaches(node: Node, names: frozenset[str]) -> bool:
    """Whether one of the operations lies a few steps below, on the way of first operands."""
    for _ in range(_BETWEEN):
        if operation(node) in names:
            return True
        if not children(node):
            return False
        node = children(node)[0]
    return operation(node) in names


def _is_sum_of_product(node: Node) -> bool:
    """A sum of products of entries, times and plus constants (twice the intersection, a smoothing term)."""
    for _ in range(_BETWEEN):
        if operation(node) == "Sum":
            return operation(_below(node)) == "Mul"
        if operation(node) not in ("Mul", "Add") or len(children(node)) != 1:
            return False
        node = _below(node)
    return False


def _adds_sums(node: Node) -> bool:
    """A sum of sums of entries; one of them may be of the targets, which have no graph."""
    for _ in range(_BETWEEN):
        if operation(node) == "Sum":
            return True
        if operation(node) not in ("Add", "Sub") or not children(node):
            return False
        node = _below(node)
    return False
