"""Train in train mode.

## What it changes
Every forward of the model in which gradients are wanted runs in train mode; the flags are put back right after it, so
that a validation in eval mode stays one.

## Which causes it removes
Modules that run in eval mode while they are trained.

## What it can't do
Batch norm that is kept in eval mode on purpose is changed too: the run shows whether the failure depends on it.
"""

from __future__ import annotations

import torch
from torch import nn

from neuraldbg.verify._lever import Lever

CAUSES: tuple[str, ...] = ("eval_mode_in_training",)
DO = "run the forward in train mode"
STRENGTHS: tuple[float, ...] = (1.0,)
ALSO_CURES = 0.03
CHANGES_LOSS = False
#: What the cause costs shows on other data; a training loss that does not fall refutes nothing.
SHOWN_IN_LOSS = False


def _has_mode(module: nn.Module) -> bool:
    if isinstance(module, nn.modules.dropout._DropoutNd):
        return module.p > 0
    if isinstance(module, (nn.modules.batchnorm._BatchNorm, nn.modules.instancenorm._InstanceNorm)):
        return True
    return isinstance(module, (nn.RNNBase, nn.MultiheadAttention)) and float(module.dropout) > 0


def install(lever: Lever) -> None:
    def around(call):
        if not (call.is_root and torch.is_grad_enabled()):
            return call.proceed()
        modules = list(call.module.modules())
        asleep = [module for module in modules if not module.training]
        if not asleep:
            return call.proceed()
        if any(_has_mode(module) for module in asleep):
            lever.did("modules were in eval mode")
        for module in asleep:
            module.training = True
        try:
            return call.proceed()
        finally:
            for module in asleep:
                module.training = False

    lever.around_calls(around)
