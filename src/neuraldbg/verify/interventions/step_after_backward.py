"""Step after each backward.

## What it changes
An optimizer that never steps, or whose gradients were cleared four times without a step, takes a step after each
backward from then on, and its gradients are cleared. Gradients that are kept over several backwards and then used, as
with accumulation, are left alone. An optimizer that steps without any gradient, because it holds the parameters of
another model, gets those that have one.

## Which causes it removes
A missing ``optimizer.step()``.

## What it can't do
It needs an optimizer that holds the parameters. Gradients under a loss scaler are divided by the scale.
"""

from __future__ import annotations

import torch

from neuraldbg.verify._lever import Lever
from neuraldbg.verify.interventions.add_missing_parameters import add

CAUSES: tuple[str, ...] = ("missing_optimizer_step",)
DO = "step after each backward"
STRENGTHS: tuple[float, ...] = (1.0,)
ALSO_CURES = 0.02
CHANGES_LOSS = False
_PATIENCE = 4


def install(lever: Lever) -> None:
    #: Per optimizer: backwards since its last step, gradients that were cleared unused, and whether it steps at all.
    waiting: dict[int, int] = {}
    lost: dict[int, int] = {}
    stepped_before: set[int] = set()
    ours: set[int] = set()
    scale = [1.0]

    def stepped(optimizer):
        stepped_before.add(id(optimizer))
        waiting[id(optimizer)] = 0

    def scaled(original):
        def method(scaler, outputs):
            result = original(scaler, outputs)
            scale[0] = float(scaler.get_scale()) if scaler.is_enabled() else 1.0
            return result

        return method

    def backward(tensors, proceed):
        optimizers = lever.optimizers()
        for optimizer in optimizers:
            if waiting.get(id(optimizer), 0) and not any(bool((g != 0).any()) for g in lever.gradients(optimizer)):
                lost[id(optimizer)] = lost.get(id(optimizer), 0) + 1
                waiting[id(optimizer)] = 0
        proceed(tensors)
        for optimizer in optimizers:
            gradients = list(lever.gradients(optimizer))
            if not gradients:
                continue
            key = id(optimizer)
            waiting[key] = waiting.get(key, 0) + 1
            never = key not in stepped_before and waiting[key] > _PATIENCE
            if key not in ours and not never and lost.get(key, 0) < _PATIENCE:
                continue
            ours.add(key)
            if scale[0] != 1.0:
                for gradient in gradients:
                    gradient.div_(scale[0])
            known = key in stepped_before
            optimizer.step()
            if not known:
                stepped_before.discard(key)
            optimizer.zero_grad(set_to_none=True)
            lever.did(f"{type(optimizer).__name__} stepped")

    roots = {}

    def before(optimizer):
        if not any(True for _ in lever.gradients(optimizer)):
            add(lever, optimizer, roots.values())

    lever.before_model(lambda call: roots.setdefault(id(call.module), call.module))
    lever.before_step(before)
    lever.after_step(stepped)
    lever.replace(torch.amp.GradScaler, "scale", scaled)
    lever.around_backward(backward)
