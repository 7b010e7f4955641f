"""Give the layer its standard initialization.

## What it changes
Before its first forward, the layer of the hypothesis gets the initial weights that torch gives its type, and so does
every other layer whose weights are as far from them: three times larger, three times smaller, or all equal, as the
hypothesis says. Against weights that are too small, where that is not enough, they are made √6 times larger, which is
the initialization that keeps the signal's size through a stack of ReLUs (He et al. 2015). The weights that were
replaced come back at the end of the block.

## Which causes it removes
Initial weights that are too large, too small, or all equal.

## What it can't do
Weights that are made by hand have no standard; they get one by their fan-in. A pretrained model loses what it knew.
"""

from __future__ import annotations

import math

import torch
from torch import nn

from neuraldbg.verify._lever import Lever

CAUSES: tuple[str, ...] = ("init_too_large", "init_too_small", "symmetric_init")
DO = "use the standard initialization"
STRENGTHS: tuple[float, ...] = (1.0, 6**0.5)
ALSO_CURES = 0.08
CHANGES_LOSS = False
_FAR = 3.0


def standard(module: nn.Module, name: str, parameter: torch.Tensor) -> torch.Tensor:
    """What torch would start a parameter with; a new tensor of the same shape."""
    fresh = torch.empty_like(parameter, dtype=torch.float32, requires_grad=False)
    if isinstance(module, (nn.Embedding, nn.EmbeddingBag)):
        return fresh.normal_()
    if "norm" in type(module).__name__.lower():
        return fresh.fill_(0.0 if "bias" in name else 1.0)
    if isinstance(module, (nn.RNNBase, nn.RNNCellBase)):
        bound = 1 / math.sqrt(module.hidden_size)
        return fresh.uniform_(-bound, bound)
    if isinstance(module, nn.MultiheadAttention) and name.startswith("in_proj_weight"):
        return nn.init.xavier_uniform_(fresh)
    if parameter.dim() < 2 or "bias" in name:
        # The bias of a linear map; anything else of one dimension is left as it is.
        weight = getattr(module, "weight", None)
        if "bias" not in name or not isinstance(weight, torch.Tensor) or weight.dim() < 2:
            return parameter.detach().clone()
        bound = 1 / math.sqrt(max(1, weight[0].numel()))
        return fresh.uniform_(-bound, bound)
    return nn.init.kaiming_uniform_(fresh, a=math.sqrt(5))


def is_far(parameter: torch.Tensor, fresh: torch.Tensor, cause: str = "") -> bool:
    """Whether weights are of another size than standard ones, or all equal; for a unit, also equal rows.

    ``cause`` says which of the three counts; all of them by default.
    """
    if parameter.numel() < 2 or not parameter.is_floating_point():
        return False
    # Root mean square, not spread: weights that are all nine are too large, too.
    now, usual = (float(tensor.detach().float().square().mean().sqrt()) for tensor in (parameter, fresh))
    if usual == 0:
        return False
    if parameter.dim() >= 2 and parameter.shape[0] > 1:
        rows = parameter.detach().flatten(1)
        if cause != "init_too_large" and bool((rows == rows[:1]).all()):
            return True
    too_large, too_small = now > _FAR * usual, now < usual / _FAR
    return {"init_too_large": too_large, "init_too_small": too_small, "symmetric_init": too_small}.get(
        cause, too_large or too_small
    )


def install(lever: Lever) -> None:
    done = set()

    def before(call):
        root = call.module
        if id(root) in done:
            return
        done.update(id(module) for module in root.modules())
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            for path, module in root.named_modules():
                for name, parameter in module.named_parameters(recurse=False):
                    if "norm" in type(module).__name__.lower():
                        continue
                    fresh = standard(module, name, parameter)
                    weights = parameter.dim() >= 2
                    if weights and not is_far(parameter, fresh, lever.target.cause):
                        continue
                    if not weights and not _bias_is_far(parameter, fresh):
                        continue
                    before = parameter.detach().clone()
                    larger = weights and lever.target.cause == "init_too_small"
                    parameter.copy_(fresh * lever.strength if larger else fresh)
                    lever.did(f"'{path}.{name}' drawn anew".replace("'.", "'"))
                    lever.on_exit(lambda parameter=parameter, before=before: _put_back(parameter, before))

    lever.before_model(before)


def _bias_is_far(parameter: torch.Tensor, fresh: torch.Tensor) -> bool:
    # Zero is as usual a bias as a small random one.
    largest = float(parameter.detach().abs().max()) if parameter.numel() else 0.0
    return largest > 3 * max(float(fresh.abs().max()), 0.3)


def _put_back(parameter: torch.Tensor, before: torch.Tensor) -> None:
    with torch.no_grad():
        parameter.copy_(before)
