"""What the families draw in the same way: hand of writing, optimizer, loop."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import torch
from torch.optim import lr_scheduler

from bench.faultbench.recipe import LoopStyle, OptimizerChoice, Style, random_for

#: Learning rates that train a small network well with each optimizer.
RATES: Mapping[str, float] = {"sgd": 0.1, "momentum": 0.03, "adam": 3e-3, "adamw": 3e-3, "rmsprop": 2e-3}


def source(family: str, seed: int) -> random.Random:
    return random_for("recipe", family, seed)


def draw_optimizer(
    rng: random.Random, rates: Mapping[str, float] = RATES, names: tuple[str, ...] | None = None
) -> OptimizerChoice:
    """An optimizer with a learning rate near the one known to be good."""
    name = rng.choice(names or tuple(rates))
    rate = rates[name] * rng.uniform(0.7, 1.3)
    decay = rng.choice([0.0, 0.0, 1e-4, 1e-2 if name == "adamw" else 5e-4])
    if name == "momentum":
        return OptimizerChoice("sgd", rate, momentum=0.9, weight_decay=decay)
    if name == "adam" and rng.random() < 0.2:
        return OptimizerChoice("adam", rate, betas=(0.9, 0.99), weight_decay=0.0)
    return OptimizerChoice(name, rate, weight_decay=0.0 if name == "rmsprop" else decay)


def draw_loop(rng: random.Random, steps: int, amp: bool = True, validation: bool = True) -> LoopStyle:
    """A loop as people write it: plain, validated, accumulating, scheduled, clipped, or in mixed precision."""
    loop = LoopStyle(
        late_optimizer=rng.random() < 0.15, clear_after_step=rng.random() < 0.2, set_to_none=rng.random() < 0.75
    )
    kinds = ["plain"] * 6 + ["scheduler"] * 3 + ["clip"] * 2 + ["accumulate"] + (["amp"] if amp else [])
    kind = rng.choice(kinds)
    if validation and rng.random() < 0.35:
        loop.validation_every = rng.choice([20, 25, 40])
    if kind == "scheduler":
        loop.scheduler = draw_scheduler(rng, steps)
    elif kind == "clip":
        loop.clip = rng.choice([1.0, 2.0, 5.0])
    elif kind == "accumulate":
        loop.accumulate = 2
    elif kind == "amp":
        variant = rng.choice(["bfloat16", "float16", "scaler"])
        if variant != "scaler":
            loop.autocast = getattr(torch, variant)
        if variant != "bfloat16":
            loop.scaler = rng.choice([2.0**10, 2.0**16])
    return loop


def draw_scheduler(rng: random.Random, steps: int) -> Callable[[torch.optim.Optimizer], object]:
    """A schedule that helps, or does no harm."""
    warm = max(5, steps // 20)
    return rng.choice(
        [
            lambda optimizer: lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps),
            lambda optimizer: lr_scheduler.StepLR(optimizer, step_size=max(1, int(steps * 0.6)), gamma=0.3),
            lambda optimizer: lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / warm)),
            lambda optimizer: lr_scheduler.ExponentialLR(optimizer, gamma=0.2 ** (1 / steps)),
            lambda optimizer: lr_scheduler.LinearLR(optimizer, start_factor=1.0, end_factor=0.2, total_iters=steps),
            lambda optimizer: lr_scheduler.ReduceLROnPlateau(optimizer, patience=60, factor=0.5),
        ]
    )


def draw_style(
    rng: random.Random,
    activations: tuple[str, ...] = ("relu", "relu", "leaky_relu", "gelu", "tanh", "silu", "elu", "relu_inplace"),
    norms: tuple[str, ...] = ("none",),
    dropouts: tuple[float, ...] = (0.0, 0.0, 0.1, 0.2),
    widths: tuple[int, ...] = (24, 32, 48),
    depths: tuple[int, ...] = (2, 3),
    length: int = 12,
) -> Style:
    """A hand of writing."""
    return Style(
        activation=rng.choice(activations),
        functional=rng.random() < 0.5,
        norm=rng.choice(norms),
        dropout=rng.choice(dropouts),
        width=rng.choice(widths),
        depth=rng.choice(depths),
        naming=rng.randrange(6),
        length=length,
    )


def teacher(seed: int) -> torch.Generator:
    """The source of a task's fixed truth."""
    return torch.Generator().manual_seed(seed + 777)
