"""Step after each backward.

## What it changes
An optimizer that has not stepped in four backwards takes a step after each one from then on, and its gradients are
cleared. One that steps now and then, as with accumulation, is left alone: the wait is then four times its longest gap.

## Which causes it removes
A missing ``optimizer.step()``.

## What it can't do
It needs an optimizer that holds the parameters. Gradients under a loss scaler are divided by the scale.
"""

from __future__ import annotations

import torch

from neuraldbg.verify._lever import Lever

CAUSES: tuple[str, ...] = ("missing_optimizer_step",)
DO = "step after each backward"
STRENGTHS: tuple[float, ...] = (1.0,)
ALSO_CURES = 0.02
CHANGES_LOSS = False
_PATIENCE = 4


def install(lever: Lever) -> None:
    waiting: dict[int, int] = {}
    longest: dict[int, int] = {}
    scale = [1.0]

    def stepped(optimizer):
        key = id(optimizer)
        longest[key] = max(longest.get(key, 1), waiting.get(key, 0))
        waiting[key] = 0

    def scaled(original):
        def method(scaler, outputs):
            result = original(scaler, outputs)
            scale[0] = float(scaler.get_scale()) if scaler.is_enabled() else 1.0
            return result

        return method

    ours = set()

    def backward(tensors, proceed):
        proceed(tensors)
        for optimizer in lever.optimizers():
            gradients = list(lever.gradients(optimizer))
            if not gradients:
                continue
            key = id(optimizer)
            waiting[key] = waiting.get(key, 0) + 1
            if key not in ours and waiting[key] <= _PATIENCE * longest.get(key, 1):
                continue
            if key in ours and key in longest and waiting[key] == 0:
                continue
            ours.add(key)
            if scale[0] != 1.0:
                for gradient in gradients:
                    gradient.div_(scale[0])
            with torch.no_grad():
                before = longest.get(key)
                optimizer.step()
            longest[key] = before if before is not None else 1
            optimizer.zero_grad(set_to_none=True)
            lever.did(f"{type(optimizer).__name__} stepped")

    lever.after_step(stepped)
    lever.replace(torch.amp.GradScaler, "scale", scaled)
    lever.around_backward(backward)
