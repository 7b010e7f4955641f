"""Lower the dropout.

## What it changes
No dropout drops more than a tenth, or anything at all where that is not enough: modules for the duration of the model's
forward, functions at their call.

## Which causes it removes
Dropout that removes nearly all of the signal.

## What it can't do
Dropout that is written by hand with a random mask.
"""

from __future__ import annotations

import torch.nn.functional
from torch import nn

from neuraldbg.verify._lever import Lever

CAUSES: tuple[str, ...] = ("excessive_dropout",)
DO = "drop at most a tenth"
#: The largest share that is dropped.
STRENGTHS: tuple[float, ...] = (0.1, 0.0)
ALSO_CURES = 0.06
CHANGES_LOSS = False
FUNCTIONS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")


def install(lever: Lever) -> None:
    most = lever.strength

    def around(call):
        if not call.is_root:
            return call.proceed()
        changed = []
        for module in call.module.modules():
            name = "p" if isinstance(module, nn.modules.dropout._DropoutNd) else "dropout"
            if name == "dropout" and not isinstance(module, (nn.RNNBase, nn.MultiheadAttention)):
                continue
            rate = getattr(module, name)
            if isinstance(rate, float) and rate > most:
                changed.append((module, name, rate))
        for module, name, rate in changed:
            setattr(module, name, most)
            if module.training:
                lever.did(f"dropout {rate:g} → {most:g}")
        try:
            return call.proceed()
        finally:
            for module, name, rate in changed:
                setattr(module, name, rate)

    def make(original):
        def dropout(input, p=0.5, training=True, inplace=False):
            if p > most and training:
                lever.did(f"dropout {p:g} → {most:g}")
                p = most
            return original(input, p, training, inplace)

        return dropout

    for name in FUNCTIONS:
        lever.replace(torch.nn.functional, name, make)
    lever.around_calls(around)
