"""The one loop that interprets a recipe, and what is kept of a run to judge it."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from bench.faultbench.recipe import Dataset, Phase, Recipe

Session = Callable[[nn.Module], AbstractContextManager[Any]]


def unwatched(model: nn.Module) -> AbstractContextManager[Any]:
    """A session that does nothing."""
    return contextlib.nullcontext()


@dataclass
class Outcome:
    """How a run went."""

    losses: list[float] = field(default_factory=list)
    #: Metric on each round's batch, from the training forward.
    metrics: list[float] = field(default_factory=list)
    #: (round, loss, metric) of each validation.
    validations: list[tuple[int, float, float]] = field(default_factory=list)
    #: Metric over the last fifth of the rounds taken together.
    final: float = math.nan
    #: Metric of the finished model in eval mode on untouched data.
    clean: float = math.nan
    #: First round whose loss was not finite, or None.
    first_non_finite: int | None = None
    #: What the program raised, if it stopped with an error.
    error: str | None = None


def shuffled_epochs(data: Dataset, batch: int, rounds: int, generator: torch.Generator) -> list[Tensor]:
    """Rows of each batch: every epoch a new permutation, the last short batch dropped."""
    batches: list[Tensor] = []
    while len(batches) < rounds:
        rows = torch.randperm(len(data), generator=generator)
        batches += [rows[i : i + batch] for i in range(0, len(data) - batch + 1, batch)]
    return batches[:rounds]


def model_of(recipe: Recipe) -> nn.Module:
    """The model as this recipe builds it, always the same."""
    torch.manual_seed(recipe.seed)
    model = recipe.build(recipe.style)
    for change in recipe.after_build:
        change(model)
    return model


def data_of(recipe: Recipe) -> tuple[Dataset, Dataset, Dataset]:
    """Training, validation and untouched validation data."""
    generator = torch.Generator().manual_seed(recipe.seed + 10_000)
    train = recipe.draw(recipe.samples, generator, recipe.style)
    clean = recipe.draw(128, generator, recipe.style)
    validation = clean
    for change in recipe.on_train_data:
        train = change(train)
    for change in recipe.on_validation_data:
        validation = change(validation)
    return train, validation, clean


def standard_forward(recipe: Recipe) -> Callable[[nn.Module, Dataset, int], tuple[Tensor, Any]]:
    """Model, then what lies between model and loss, then the loss."""

    def forward(model: nn.Module, batch: Dataset, step: int) -> tuple[Tensor, Any]:
        output = model(*batch.inputs)
        for change in recipe.on_output:
            output = change(output, step)
        loss = recipe.objective(output, batch.target, batch.inputs)
        for change in recipe.on_loss:
            loss = change(loss, step)
        return loss, output

    return forward


class _Recorder:
    """Keeps what the judge needs; touches nothing that trains."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.outcome = Outcome()
        self.kept: list[tuple[Tensor, Tensor]] = []

    def measure(self, output: Any, target: Tensor) -> tuple[float, Tensor]:
        with torch.no_grad():
            predictions = self.recipe.predict(output).detach().float()
            if not bool(torch.isfinite(predictions).all()):
                return math.inf, predictions
            return self.recipe.metric(predictions, target), predictions

    def round(self, step: int, loss: float, output: Any, target: Tensor) -> None:
        outcome = self.outcome
        outcome.losses.append(loss)
        if not math.isfinite(loss) and outcome.first_non_finite is None:
            outcome.first_non_finite = step
        metric, predictions = self.measure(output, target)
        outcome.metrics.append(metric)
        if step >= self.recipe.steps * 0.8:
            self.kept.append((predictions.clone(), target.detach().clone()))

    def finish(self, model: nn.Module, clean: Dataset) -> Outcome:
        outcome = self.outcome
        if self.kept:
            predictions = torch.cat([part for part, _ in self.kept])
            targets = torch.cat([part for _, part in self.kept])
            broken = not bool(torch.isfinite(predictions).all())
            outcome.final = math.inf if broken else self.recipe.metric(predictions, targets)
        if outcome.error is None:
            model.eval()
            with torch.no_grad(), contextlib.suppress(RuntimeError, TypeError, ValueError, IndexError):
                outcome.clean = self.measure(model(*clean.inputs), clean.target)[0]
        return outcome


def run(recipe: Recipe, session: Session = unwatched) -> Outcome:
    """Train as the recipe says, inside ``session(model)``.

    Errors: what the program raises is kept in ``Outcome.error`` where the recipe may raise, else passed on.
    """
    model = model_of(recipe)
    train, validation, clean = data_of(recipe)
    phases = (
        recipe.phases(recipe)
        if recipe.phases is not None
        else [Phase("train", standard_forward(recipe), recipe.parameters)]
    )
    generator = torch.Generator().manual_seed(recipe.seed + 20_000)
    order = recipe.order or shuffled_epochs
    rows = order(train, recipe.batch, recipe.steps * recipe.loop.accumulate, generator)
    recorder = _Recorder(recipe)
    optimizers: list[torch.optim.Optimizer] = []

    def make_optimizers() -> None:
        optimizers.extend(recipe.optimizer.build(phase.parameters(model)) for phase in phases)
        for change in recipe.after_optimizer:
            change(model, optimizers)

    torch.manual_seed(recipe.seed + 30_000)
    if not recipe.loop.late_optimizer:
        make_optimizers()
    try:
        with session(model):
            if recipe.loop.late_optimizer:
                make_optimizers()
            _train(recipe, model, optimizers, phases, train, validation, rows, recorder)
    except (RuntimeError, IndexError, ValueError) as error:
        if not recipe.may_raise:
            raise
        recorder.outcome.error = f"{type(error).__name__}: {error}"
    return recorder.finish(model, clean)


def _train(
    recipe: Recipe,
    model: nn.Module,
    optimizers: list[torch.optim.Optimizer],
    phases: list[Phase],
    train: Dataset,
    validation: Dataset,
    rows: list[Tensor],
    recorder: _Recorder,
) -> None:
    loop = recipe.loop
    schedulers = [loop.scheduler(optimizer) for optimizer in optimizers] if loop.scheduler else []
    scaler = torch.amp.GradScaler("cpu", init_scale=loop.scaler, growth_interval=100) if loop.scaler else None
    model.train()
    for step in range(recipe.steps):
        for change in recipe.before_round:
            change(model, optimizers, step)
        for phase, optimizer in zip(phases, optimizers):
            if not loop.clear_after_step:
                recipe.clear(model, [optimizer], step, loop.set_to_none)
            total = 0.0
            for micro in range(loop.accumulate):
                batch = train.pick(rows[step * loop.accumulate + micro])
                for alter in recipe.on_batch:
                    batch = alter(batch, step)
                casting = torch.autocast("cpu", dtype=loop.autocast) if loop.autocast else contextlib.nullcontext()
                with casting:
                    loss, output = phase.forward(model, batch, step)
                share = loss / loop.accumulate if loop.divide_accumulated and loop.accumulate > 1 else loss
                (scaler.scale(share) if scaler else share).backward()
                total += loss.item() / loop.accumulate
            _update(recipe, model, optimizer, scaler, step)
            if loop.clear_after_step:
                recipe.clear(model, [optimizer], step, loop.set_to_none)
        if scaler:
            scaler.update() if recipe.take_step(step) else None
        for scheduler in schedulers:
            if isinstance(scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
                scheduler.step(total)
            else:
                scheduler.step()
        recorder.round(step, total, output, batch.target)
        if loop.validation_every and (step + 1) % loop.validation_every == 0:
            _validate(recipe, model, validation, step, recorder)


def _update(recipe: Recipe, model: nn.Module, optimizer: torch.optim.Optimizer, scaler: Any, step: int) -> None:
    loop = recipe.loop
    if scaler and loop.clip and not loop.clip_scaled:
        scaler.unscale_(optimizer)
    if loop.clip:
        nn.utils.clip_grad_norm_(model.parameters(), loop.clip)
    if recipe.take_step(step):
        if scaler:
            scaler.step(optimizer)
        else:
            optimizer.step()


def _validate(recipe: Recipe, model: nn.Module, validation: Dataset, step: int, recorder: _Recorder) -> None:
    if recipe.loop.validation_mode == "eval":
        model.eval()
    with torch.no_grad():
        output = model(*validation.inputs)
        for change in recipe.on_output:
            output = change(output, step)
        loss = recipe.objective(output, validation.target, validation.inputs).item()
    recorder.outcome.validations.append((step, loss, recorder.measure(output, validation.target)[0]))
    if recipe.loop.restore_train:
        model.train()
