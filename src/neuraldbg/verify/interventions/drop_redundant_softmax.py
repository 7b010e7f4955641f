"""Drop the softmax that the loss applies again.

## What it changes
Where cross-entropy, its binary form with logits, or a log-softmax gets probabilities that a softmax or a sigmoid made
(a module or a function), it gets their logarithm, or their log-odds, which are the logits up to a constant that these
losses do not see: as if the first softmax were not there.

## Which causes it removes
A softmax or sigmoid before a loss that applies one itself.

## What it can't do
Probabilities that underflowed to zero keep no gradient.
"""

from __future__ import annotations

import torch.nn.functional
from torch import Tensor

from neuraldbg.verify._lever import Lever

CAUSES: tuple[str, ...] = ("redundant_softmax",)
DO = "feed logits to the loss"
STRENGTHS: tuple[float, ...] = (1.0,)
ALSO_CURES = 0.03
CHANGES_LOSS = False
#: Nodes that only rearrange numbers.
_REARRANGING = (
    "ViewBackward", "ReshapeAliasBackward", "UnsafeViewBackward", "TransposeBackward", "PermuteBackward",
    "SqueezeBackward", "UnsqueezeBackward", "SelectBackward", "SliceBackward", "IndexBackward", "CloneBackward",
    "ToCopyBackward", "TBackward", "AliasBackward", "SplitBackward", "CatBackward",
)  # fmt: skip


def maker(tensor: Tensor) -> str:
    """Name of the operation that made the numbers of a tensor, behind any rearranging."""
    node = tensor.grad_fn
    while node is not None and node.name().startswith(_REARRANGING):
        node = next((below for below, _ in node.next_functions if below is not None), None)
    return "" if node is None else node.name()


def logits(prediction: Tensor, lever: Lever, binary: bool) -> Tensor:
    """The numbers from before a softmax or sigmoid; the tensor itself where none made it."""
    made_by = maker(prediction)
    tiny = torch.finfo(prediction.dtype).tiny if prediction.is_floating_point() else 0.0
    if made_by.startswith("SigmoidBackward") or (binary and made_by.startswith("SoftmaxBackward")):
        lever.did("a sigmoid before the loss" if "Sigmoid" in made_by else "a softmax before the loss")
        return torch.logit(prediction, eps=1e-6)
    if made_by.startswith("SoftmaxBackward"):
        lever.did("a softmax before the loss")
        return torch.log(prediction.clamp_min(tiny))
    return prediction


def install(lever: Lever) -> None:
    def make_for(binary):
        def make(original):
            def loss(input, *arguments, **keywords):
                if isinstance(input, Tensor) and input.requires_grad:
                    input = logits(input, lever, binary)
                return original(input, *arguments, **keywords)

            return loss

        return make

    functional = torch.nn.functional
    lever.replace(functional, "cross_entropy", make_for(False))
    lever.replace(functional, "binary_cross_entropy_with_logits", make_for(True))
    for owner in (functional, torch, Tensor):
        lever.replace(owner, "log_softmax", make_for(False))
