"""A training program as data: what a family fills in, what an injector changes, what the loop interprets."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn


@dataclass
class Style:
    """How a model is written: the same network in another hand, and the knobs that architecture faults turn."""

    activation: str = "relu"
    #: Activations called as functions in ``forward`` instead of being modules.
    functional: bool = False
    #: "none", "batch" or "layer".
    norm: str = "none"
    dropout: float = 0.0
    width: int = 32
    depth: int = 2
    residual: bool = False
    #: Which of the family's ways to name its parts, counted from 0.
    naming: int = 0
    #: Factor on every pre-activation.
    pre_scale: float = 1.0
    #: Index of a hidden layer that the forward forgets, or None.
    skip: int | None = None
    #: Length of sequences, where a family has any.
    length: int = 12
    #: What a family keeps for itself.
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass
class OptimizerChoice:
    """An optimizer with its numbers, not yet bound to parameters."""

    name: str
    learning_rate: float
    momentum: float = 0.0
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    weight_decay: float = 0.0

    @property
    def adaptive(self) -> bool:
        return self.name in ("adam", "adamw", "rmsprop")

    def build(self, parameters: Iterable[Any]) -> torch.optim.Optimizer:
        chosen = list(parameters)
        if self.name == "sgd":
            return torch.optim.SGD(
                chosen, lr=self.learning_rate, momentum=self.momentum, weight_decay=self.weight_decay
            )
        if self.name == "rmsprop":
            return torch.optim.RMSprop(
                chosen, lr=self.learning_rate, eps=self.epsilon, weight_decay=self.weight_decay, momentum=self.momentum
            )
        kind = torch.optim.AdamW if self.name == "adamw" else torch.optim.Adam
        return kind(chosen, lr=self.learning_rate, betas=self.betas, eps=self.epsilon, weight_decay=self.weight_decay)


@dataclass
class Dataset:
    """Samples side by side: every tensor has the same first dimension."""

    inputs: tuple[Tensor, ...]
    target: Tensor

    def __len__(self) -> int:
        return len(self.target)

    def pick(self, rows: Tensor) -> Dataset:
        return Dataset(tuple(part[rows] for part in self.inputs), self.target[rows])


#: Onset of a fault that acts once numbers leave their range: known after the run.
UNKNOWN = (-1, -1)


@dataclass
class Label:
    """The right answer for one run."""

    #: A code of the vocabulary; "none" for a healthy run.
    cause: str
    #: Module paths that count as the right place; None where no place applies.
    places: tuple[str, ...] | None = None
    #: First and last step at which the fault may begin to act; UNKNOWN until the run tells (first non-finite loss).
    onset: tuple[int, int] = (0, 0)
    #: Codes that a fair judge accepts too.
    also: tuple[str, ...] = ()
    #: How the fault was put in, in a few words.
    variant: str = ""


@dataclass
class Phase:
    """One backward and one optimizer within a round; a GAN has two."""

    name: str
    #: (model, batch, step) -> (loss, output).
    forward: Callable[[nn.Module, Dataset, int], tuple[Tensor, Any]]
    parameters: Callable[[nn.Module], Iterable[Any]]


@dataclass
class LoopStyle:
    """How the loop is written."""

    #: Micro-batches per optimizer step.
    accumulate: int = 1
    divide_accumulated: bool = True
    clip: float | None = None
    #: True clips before GradScaler has unscaled (a fault).
    clip_scaled: bool = False
    #: optimizer -> scheduler, stepped once a round.
    scheduler: Callable[[torch.optim.Optimizer], Any] | None = None
    autocast: torch.dtype | None = None
    #: First scale of a GradScaler, or None for no scaler.
    scaler: float | None = None
    #: Rounds between two validations, 0 for none.
    validation_every: int = 0
    #: "eval" or "train" (a fault).
    validation_mode: str = "eval"
    #: Whether train mode is restored after a validation.
    restore_train: bool = True
    #: Build the optimizer inside the watched block.
    late_optimizer: bool = False
    clear_after_step: bool = False
    set_to_none: bool = True


def clear_all(model: nn.Module, optimizers: Sequence[torch.optim.Optimizer], step: int, set_to_none: bool) -> None:
    """Clear every gradient, as a correct loop does."""
    for optimizer in optimizers:
        optimizer.zero_grad(set_to_none=set_to_none)


@dataclass
class Recipe:
    """One training program."""

    family: str
    seed: int
    #: "classes", "binary", "regression", "tokens" or "custom"; see tasks.py.
    task: str
    style: Style
    #: Fields of Style that the family's model honours.
    knobs: frozenset[str]
    #: What else injectors ask for: "float_input", "images", "recurrent", "amp", ...
    tags: frozenset[str]
    build: Callable[[Style], nn.Module]
    #: (number of samples, generator, style) -> Dataset.
    draw: Callable[[int, torch.Generator, Style], Dataset]
    #: (output, target, inputs) -> loss.
    objective: Callable[[Any, Tensor, tuple[Tensor, ...]], Tensor]
    #: (predictions, targets) -> 0 for perfect, 1 for a constant predictor.
    metric: Callable[[Tensor, Tensor], float]
    #: Output of the model -> predictions as the metric reads them.
    predict: Callable[[Any], Tensor]
    optimizer: OptimizerChoice
    batch: int = 32
    steps: int = 200
    samples: int = 1024
    classes: int = 0
    #: Metric that a healthy run must reach.
    good: float = 0.5
    loop: LoopStyle = field(default_factory=LoopStyle)
    phases: Callable[[Recipe], list[Phase]] | None = None

    after_build: list[Callable[[nn.Module], None]] = field(default_factory=list)
    on_train_data: list[Callable[[Dataset], Dataset]] = field(default_factory=list)
    on_validation_data: list[Callable[[Dataset], Dataset]] = field(default_factory=list)
    on_batch: list[Callable[[Dataset, int], Dataset]] = field(default_factory=list)
    on_output: list[Callable[[Any, int], Any]] = field(default_factory=list)
    on_loss: list[Callable[[Tensor, int], Tensor]] = field(default_factory=list)
    after_optimizer: list[Callable[[nn.Module, list[torch.optim.Optimizer]], None]] = field(default_factory=list)
    before_round: list[Callable[[nn.Module, list[torch.optim.Optimizer], int], None]] = field(default_factory=list)
    #: (data, batch, rounds, generator) -> rows of each batch; None for shuffled epochs.
    order: Callable[[Dataset, int, int, torch.Generator], list[Tensor]] | None = None
    parameters: Callable[[nn.Module], Iterable[Any]] = field(default=lambda model: model.parameters())
    clear: Callable[[nn.Module, Sequence[torch.optim.Optimizer], int, bool], None] = clear_all
    take_step: Callable[[int], bool] = field(default=lambda step: True)
    #: A program that stops with an error from the loss (an invalid class id) is a result, not a defect of the bench.
    may_raise: bool = False
    label: Label = field(default_factory=lambda: Label("none"))

    def logits(self) -> bool:
        return self.task in ("classes", "binary", "tokens")

    def wrap_objective(self, change: Callable[[Any, Tensor], tuple[Any, Tensor]]) -> None:
        """Let ``change`` rewrite (output, target) on their way into the loss."""
        objective = self.objective

        def changed(output: Any, target: Tensor, inputs: tuple[Tensor, ...]) -> Tensor:
            output, target = change(output, target)
            return objective(output, target, inputs)

        self.objective = changed


def geometric(low: float, high: float, strength: float) -> float:
    """The number ``strength`` of the way from low to high on a logarithmic scale; strength in 0..1."""
    return math.exp(math.log(low) + (math.log(high) - math.log(low)) * strength)


def random_for(*parts: object) -> random.Random:
    """A random source that depends on the parts alone (and not on the process)."""
    return random.Random("/".join(map(str, parts)))
