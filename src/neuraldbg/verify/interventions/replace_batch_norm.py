"""Replace batch norm by a norm over each sample.

## What it changes
Every batch norm, module or function, normalizes each sample over its channels (and positions) with the same weight and
bias, so that no statistics of the batch are used.

## Which causes it removes
Statistics over a batch of one or a few samples.

## What it can't do
Counts as a change only for batches of at most eight rows: larger ones have statistics enough.
"""

from __future__ import annotations

import torch.nn.functional

from neuraldbg.verify._lever import Lever

CAUSES: tuple[str, ...] = ("batchnorm_small_batch",)
DO = "normalize each sample instead of the batch"
STRENGTHS: tuple[float, ...] = (1.0,)
ALSO_CURES = 0.08
CHANGES_LOSS = False
_SMALL = 8


def install(lever: Lever) -> None:
    def make(original):
        def batch_norm(
            input, running_mean=None, running_var=None, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5
        ):
            if input.shape[0] <= _SMALL and training:
                lever.did(f"batch norm over {input.shape[0]} rows")
            # Over one channel nothing would be left of a sample without positions.
            if input[0].numel() < 2:
                return original(input, running_mean, running_var, weight, bias, training, momentum, eps)
            return torch.nn.functional.group_norm(input, 1, weight, bias, eps)

        return batch_norm

    lever.replace(torch.nn.functional, "batch_norm", make)
