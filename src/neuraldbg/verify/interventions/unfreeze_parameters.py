"""Unfreeze parameters.

## What it changes
Parameters whose ``requires_grad`` is off, at the place of the hypothesis or anywhere if it names none, are trained: the
flag is set before each forward with gradients, and an optimizer that lacks them gets them. All of it is taken back.

## Which causes it removes
Parameters that are frozen and should train.

## What it can't do
Tell a deliberate freeze from a mistaken one: it shows whether the failure depends on it.
"""

from __future__ import annotations

from neuraldbg.verify._lever import Lever
from neuraldbg.verify.interventions.add_missing_parameters import add

CAUSES: tuple[str, ...] = ("frozen_parameters",)
DO = "unfreeze the parameters"
STRENGTHS: tuple[float, ...] = (1.0,)
#: More to train makes any loss fall faster, also where the freeze was meant.
ALSO_CURES = 0.2
CHANGES_LOSS = False


def install(lever: Lever) -> None:
    roots = {}
    flags = {}

    def before(call):
        roots.setdefault(id(call.module), call.module)
        frozen = [(n, p) for n, p in call.module.named_parameters() if not p.requires_grad and p.is_floating_point()]
        wanted = lever.target.layer or (lever.target.parameter or "").rpartition(".")[0]
        named = [(n, p) for n, p in frozen if wanted and n.startswith(wanted + ".")]
        for name, parameter in named or frozen:
            flags.setdefault(id(parameter), parameter)
            parameter.requires_grad_(True)
            lever.did(f"'{name}' is trained")

    def undo():
        for parameter in flags.values():
            parameter.requires_grad_(False)
            parameter.grad = None

    lever.on_exit(undo)
    lever.before_model(before)
    lever.before_step(lambda optimizer: add(lever, optimizer, roots.values()))
