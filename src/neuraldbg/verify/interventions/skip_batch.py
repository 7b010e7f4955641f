"""Skip the offending batch.

## What it changes
A batch whose inputs are not finite, or more than ten times as large as those of the batches before, is repaired for the
forward (so that running statistics stay sound) and its gradients are dropped. So is a round in which the loss is not
finite for the first time, or stands out twentyfold, near the onset. Where more than a fifth of the batches would have
to be skipped, they are only repaired.

## Which causes it removes
NaN or infinite inputs; a single extreme batch.

## What it can't do
Faults in most of the batches, and faults of the targets that do not show in the loss.
"""

from __future__ import annotations

import math
import statistics

import torch

from neuraldbg.verify._lever import Lever

CAUSES: tuple[str, ...] = ("nan_in_input", "outlier_batch")
DO = "skip the offending batch"
STRENGTHS: tuple[float, ...] = (1.0,)
ALSO_CURES = 0.08
CHANGES_LOSS = False
_LARGER = 10.0
_LOSS_STANDS_OUT = 20.0


def install(lever: Lever) -> None:
    lever.count_steps()
    sizes: dict[object, list[float]] = {}
    losses: list[float] = []
    state = {"bad": False, "batches": 0, "skipped": 0, "by_loss": 0}

    def before(call):
        found = []

        def repair(key, tensor):
            if not tensor.is_floating_point() or tensor.grad_fn is not None or not tensor.numel():
                return tensor
            finite = torch.isfinite(tensor)
            if not bool(finite.all()):
                found.append("a batch that is not finite")
                tensor = torch.where(finite, tensor, torch.zeros_like(tensor))
            size = float(tensor.detach().abs().max())
            past = sizes.setdefault(key, [])
            if len(past) >= 3 and size > _LARGER * statistics.median(past) > 0:
                found.append("an extreme batch")
                limit = statistics.median(past)
                return tensor.clamp(-limit, limit)
            past.append(size)
            del past[:-50]
            return tensor

        call.change_tensors(repair)
        state["batches"] += 1
        if found:
            lever.did(found[0])
            state["bad"] = True

    def backward(tensors, proceed):
        root = tensors if isinstance(tensors, torch.Tensor) else next(iter(tensors), None)
        if root is not None and root.numel() == 1:
            value = abs(float(root.detach()))
            # Only near the onset: a loss that runs away for another reason is not to be hidden.
            near = abs(lever.step - lever.target.step) <= 2
            stands_out = len(losses) >= 3 and value > _LOSS_STANDS_OUT * statistics.median(losses)
            if near and (stands_out or not math.isfinite(value)) and state["by_loss"] < 3:
                state["bad"] = True
                state["by_loss"] += 1
                lever.did("a batch whose loss stands out")
            elif math.isfinite(value):
                losses.append(value)
        proceed(tensors)

    def drop(optimizer):
        if state["bad"]:
            state["skipped"] += 1
            if state["skipped"] <= max(3, state["batches"] / 5):
                for group in optimizer.param_groups:
                    for parameter in group["params"]:
                        parameter.grad = None

    def after(optimizer):
        state["bad"] = False

    lever.before_model(before)
    lever.around_backward(backward)
    lever.before_step(drop)
    lever.after_step(after)
