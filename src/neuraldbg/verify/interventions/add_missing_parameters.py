"""Give the optimizer the parameters that it lacks.

## What it changes
Parameters of the model that get a gradient and that no optimizer holds are added to the first group of the optimizer
that steps. So are those of modules that run inside of the model's forward without being registered in it (in a Python
list, say). They are taken out again at the end.

## Which causes it removes
Parameters that were forgotten, or replaced after the optimizer was built.

## What it can't do
Parameters without a gradient: those are frozen, unused or cut off, which are other causes.
"""

from __future__ import annotations

import torch

from neuraldbg.verify._lever import Lever

CAUSES: tuple[str, ...] = ("parameters_not_in_optimizer",)
DO = "give the optimizer the missing parameters"
STRENGTHS: tuple[float, ...] = (1.0,)
ALSO_CURES = 0.03
CHANGES_LOSS = False


def install(lever: Lever) -> None:
    roots = {}

    def around(call):
        if torch.is_grad_enabled() and not isinstance(call.module, torch.nn.modules.loss._Loss):
            # Also what is called inside: a module in a list is no part of the model that calls it.
            roots.setdefault(id(call.module), call.module)
        return call.proceed()

    def before(optimizer):
        add(lever, optimizer, roots.values())

    lever.around_calls(around)

    lever.before_step(before)


def add(lever: Lever, optimizer, roots) -> None:
    """Add what the models train and no optimizer holds; for the length of the block."""
    held = {id(p) for other in lever.optimizers() for group in other.param_groups for p in group["params"]}
    group = optimizer.param_groups[0]
    for root in roots:
        for name, parameter in root.named_parameters():
            if id(parameter) in held or not parameter.requires_grad or parameter.grad is None:
                continue
            held.add(id(parameter))
            group["params"].append(parameter)
            parameter.grad = None  # the sum of all backwards so far; its first real gradient is the next one
            lever.did(f"'{name}' given to {type(optimizer).__name__}")

            def undo(parameter=parameter, params=group["params"]):
                params[:] = [other for other in params if other is not parameter]
                optimizer.state.pop(parameter, None)

            lever.on_exit(undo)
