"""Give batch norm the statistics of enough samples.

## What it changes
Every batch norm over at most eight rows, module or function, in training: it normalizes each sample over its channels
(and positions) with the same weight and bias, so that no statistics of the batch are used. Where that is not enough
(some networks need a scale per channel), it normalizes each channel by the rows of the last batches and the present one
together, 32 rows in all, through which gradients flow for the present one (Yao et al. 2021, "Cross-iteration batch
normalization", without its correction for the weights' change). Larger batches have statistics enough and are left
alone.

## Which causes it removes
Statistics over a batch of one or a few samples.

## What it can't do
A norm without weights that is shared between layers of one size pools their statistics. Running statistics are kept as
torch keeps them, so that a validation in eval mode is as before.
"""

from __future__ import annotations

import torch.nn.functional

from neuraldbg.verify._lever import Lever

CAUSES: tuple[str, ...] = ("batchnorm_small_batch",)
DO = "normalize by more than the small batch"
#: 1: each sample by itself; 2: each channel over the last batches, too.
STRENGTHS: tuple[float, ...] = (1.0, 2.0)
ALSO_CURES = 0.08
CHANGES_LOSS = False
_SMALL = 8
_ROWS = 32


def install(lever: Lever) -> None:
    #: Place of the norm → rows, means and mean squares of its last batches.
    past: dict[object, list[tuple[int, torch.Tensor, torch.Tensor]]] = {}

    def pooled(input, key, eps):
        rows = input.shape[0]
        dimensions = [0, *range(2, input.dim())]
        held = past.setdefault(key, [])
        mean, square = input.mean(dimensions), input.square().mean(dimensions)
        every = [*held, (rows, mean, square)]
        total = sum(one[0] for one in every)
        all_mean = sum(one[0] * one[1] for one in every) / total
        spread = (sum(one[0] * one[2] for one in every) / total - all_mean.square()).clamp_min(0)
        held.append((rows, mean.detach(), square.detach()))
        while sum(one[0] for one in held) > _ROWS - rows and len(held) > 1:
            held.pop(0)
        shape = [1, -1] + [1] * (input.dim() - 2)
        return (input - all_mean.view(shape)) / (spread.view(shape) + eps).sqrt()

    def make(original):
        def batch_norm(
            input, running_mean=None, running_var=None, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5
        ):
            # Over one channel nothing would be left of a sample without positions.
            if not training or input.shape[0] > _SMALL or input[0].numel() < 2:
                return original(input, running_mean, running_var, weight, bias, training, momentum, eps)
            lever.did(f"batch norm over {input.shape[0]} rows")
            if running_mean is not None and input.numel() > input.shape[1]:
                with torch.no_grad():
                    original(input.detach(), running_mean, running_var, None, None, True, momentum, eps)
            if lever.strength == 1.0:
                return torch.nn.functional.group_norm(input, 1, weight, bias, eps)
            key = next((id(one) for one in (weight, running_mean) if one is not None), tuple(input.shape[1:]))
            output = pooled(input, key, eps)
            shape = [1, -1] + [1] * (input.dim() - 2)
            output = output if weight is None else output * weight.view(shape)
            return output if bias is None else output + bias.view(shape)

        return batch_norm

    lever.replace(torch.nn.functional, "batch_norm", make)
