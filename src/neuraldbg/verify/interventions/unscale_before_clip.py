"""Unscale gradients before they are clipped.

## What it changes
A call of ``clip_grad_norm_`` or ``clip_grad_value_`` on gradients that a ``GradScaler`` has scaled first unscales those
of every optimizer that holds the parameters. An ``unscale_`` of the program that comes later is left out.

## Which causes it removes
Clipping of scaled gradients.

## What it can't do
Clipping that is written by hand.
"""

from __future__ import annotations

import torch
from torch.nn.utils import clip_grad

from neuraldbg.verify._lever import Lever

CAUSES: tuple[str, ...] = ("clipping_scaled_gradients",)
DO = "unscale, then clip"
STRENGTHS: tuple[float, ...] = (1.0,)
ALSO_CURES = 0.03
CHANGES_LOSS = False


def install(lever: Lever) -> None:
    state = {"scaler": None}
    unscaled: set[int] = set()
    originals = {}

    def scale(original):
        def method(scaler, outputs):
            state["scaler"] = scaler
            return original(scaler, outputs)

        return method

    def unscale(original):
        originals["unscale_"] = original

        def unscale_(scaler, optimizer):
            if id(optimizer) in unscaled:
                return None
            unscaled.add(id(optimizer))
            return original(scaler, optimizer)

        return unscale_

    def update(original):
        def method(scaler, *arguments, **keywords):
            unscaled.clear()
            return original(scaler, *arguments, **keywords)

        return method

    def clip(original):
        def clipped(parameters, *arguments, **keywords):
            parameters = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
            scaler = state["scaler"]
            if scaler is not None and scaler.is_enabled():
                wanted = {id(parameter) for parameter in parameters}
                for optimizer in lever.optimizers():
                    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
                    if (
                        wanted & held
                        and id(optimizer) not in unscaled
                        and any(True for _ in lever.gradients(optimizer))
                    ):
                        unscaled.add(id(optimizer))
                        originals["unscale_"](scaler, optimizer)
                        lever.did("gradients unscaled before they are clipped")
            return original(parameters, *arguments, **keywords)

        return clipped

    lever.optimizers()
    lever.replace(torch.amp.GradScaler, "scale", scale)
    lever.replace(torch.amp.GradScaler, "unscale_", unscale)
    lever.replace(torch.amp.GradScaler, "update", update)
    for name in ("clip_grad_norm_", "clip_grad_value_"):
        lever.replace(clip_grad, name, clip)
        current = getattr(clip_grad, name)
        before = getattr(torch.nn.utils, name)
        torch.nn.utils.__dict__[name] = current
        lever.on_exit(lambda name=name, before=before: setattr(torch.nn.utils, name, before))
