"""Healthy runs whose model looks alarming: frozen parts, sparse units, zero branches, adapters, raw inputs."""

from __future__ import annotations

import random
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Optimizer

from bench.faultbench.healthy import float_classes, single, trick
from bench.faultbench.places import hidden, is_weighted, patch_forward, weighted
from bench.faultbench.recipe import Dataset, Recipe


def _stack(recipe: Recipe) -> bool:
    return single(recipe) and "plain_stack" in recipe.tags and recipe.style.norm == "none"


@trick(lambda recipe: single(recipe) and recipe.family in ("mlp_classifier", "cnn", "cnn_batchnorm", "lstm", "gru"))
def frozen_backbone(recipe: Recipe, rng: random.Random) -> None:
    """Wide random features stay as they are; the head over them learns what there is to learn."""
    recipe.style.width = 96 if "images" not in recipe.tags else 24
    recipe.style.depth = 1 if recipe.family == "mlp_classifier" else min(recipe.style.depth, 2)
    recipe.style.activation = "relu"
    recipe.good = 0.6

    def freeze(model: nn.Module) -> None:
        last = weighted_names[-1]
        for name, parameter in model.named_parameters():
            if not name.startswith(last):
                parameter.requires_grad_(False)

    weighted_names = weighted(recipe)
    recipe.after_build.append(freeze)
    if rng.random() < 0.5:
        recipe.parameters = lambda model: [p for p in model.parameters() if p.requires_grad]
    recipe.optimizer.learning_rate *= 2


@trick(lambda recipe: single(recipe) and recipe.style.depth > 1 and "depth" in recipe.knobs)
def frozen_first_layer(recipe: Recipe, rng: random.Random) -> None:
    """The first layer is frozen and what follows does not need it trained."""
    first = weighted(recipe)[0]

    def freeze(model: nn.Module) -> None:
        for parameter in model.get_submodule(first).parameters():
            parameter.requires_grad_(False)

    recipe.after_build.append(freeze)


@trick(lambda recipe: _stack(recipe) and "images" not in recipe.tags)
def sparse_relu(recipe: Recipe, rng: random.Random) -> None:
    """A negative bias keeps most units at zero on most inputs, and all of them alive."""
    recipe.style.activation = "relu"
    recipe.style.width = 64
    paths = hidden(recipe)[:1]

    def sink(model: nn.Module) -> None:
        with torch.no_grad():
            for path in paths:
                module = model.get_submodule(path)
                if isinstance(getattr(module, "bias", None), Tensor):
                    module.bias.fill_(-0.4)

    recipe.after_build.append(sink)


@trick(lambda recipe: single(recipe) and recipe.tags & {"attention", "residual"} != frozenset())
def zero_branches(recipe: Recipe, rng: random.Random) -> None:
    """The last map of every residual branch starts at zero."""

    def zero(model: nn.Module) -> None:
        for name, module in model.named_modules():
            if name.endswith((".fc2", ".proj", ".conv2")) and is_weighted(module):
                nn.init.zeros_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    recipe.after_build.append(zero)


@trick(single)
def zero_head(recipe: Recipe, rng: random.Random) -> None:
    """The output layer starts at zero and leaves it at once."""
    if recipe.task == "custom" or ("language" in recipe.tags and recipe.style.naming in (1, 3)):
        return
    last = weighted(recipe)[-1]

    def zero(model: nn.Module) -> None:
        nn.init.zeros_(model.get_submodule(last).weight)

    recipe.after_build.append(zero)


class Adapter(nn.Module):
    """A frozen linear map plus a low-rank one whose second factor starts at zero."""

    def __init__(self, inner: nn.Linear, rank: int) -> None:
        super().__init__()
        self.inner = inner
        for parameter in inner.parameters():
            parameter.requires_grad_(False)
        self.lora_A = nn.Parameter(torch.randn(rank, inner.in_features) / inner.in_features**0.5)
        self.lora_B = nn.Parameter(torch.zeros(inner.out_features, rank))

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x) + F.linear(F.linear(x, self.lora_A), self.lora_B)


@trick(lambda recipe: recipe.family in ("mlp_classifier", "mlp_regressor", "recommender", "siamese", "autoencoder"))
def low_rank_adapters(recipe: Recipe, rng: random.Random) -> None:
    recipe.style.width = max(recipe.style.width, 48)
    recipe.optimizer.learning_rate *= 1.5
    recipe.good = 0.65

    def adapt(model: nn.Module) -> None:
        for module in list(model.modules()):
            for child, part in list(module.named_children()):
                if isinstance(part, nn.Linear) and not isinstance(module, Adapter) and part.out_features > 8:
                    setattr(module, child, Adapter(part, 8))

    recipe.after_build.append(adapt)


@trick(lambda recipe: single(recipe) and recipe.style.norm == "batch")
def frozen_batch_norm(recipe: Recipe, rng: random.Random) -> None:
    """Batch norm is put in eval mode on purpose after a while, as in fine-tuning; the rest stays in train mode."""
    when = recipe.steps // 3
    recipe.loop.validation_every = 0

    def freeze(model: nn.Module, optimizers: list[Optimizer], step: int) -> None:
        if step == when:
            for module in model.modules():
                if isinstance(module, nn.modules.batchnorm._BatchNorm):
                    module.eval()

    recipe.before_round.append(freeze)


@trick(lambda recipe: float_classes(recipe) and "images" in recipe.tags)
def normalized_inside(recipe: Recipe, rng: random.Random) -> None:
    """Raw pixels come in, and the model's first module brings them to scale."""

    def wrap(model: nn.Module) -> None:
        patch_forward(model, "", lambda forward: lambda x: forward((x - 127.5) / 42.5))

    recipe.on_train_data.append(lambda data: Dataset((data.inputs[0] * 42.5 + 127.5,), data.target))
    recipe.on_validation_data.append(lambda data: Dataset((data.inputs[0] * 42.5 + 127.5,), data.target))
    recipe.after_build.append(wrap)


@trick(lambda recipe: single(recipe) and recipe.task == "regression" and "self_target" not in recipe.tags)
def bounded_targets(recipe: Recipe, rng: random.Random) -> None:
    """Targets in 0..1 and a sigmoid at the end: the right activation for them."""

    def squash(data: Dataset) -> Dataset:
        return Dataset(data.inputs, torch.sigmoid(1.5 * data.target))

    draw = recipe.draw
    recipe.draw = lambda count, generator, style: squash(draw(count, generator, style))
    recipe.after_build.append(
        lambda model: patch_forward(model, "", lambda forward: lambda *inputs: torch.sigmoid(forward(*inputs)))
    )
    recipe.objective = lambda output, target, inputs: F.mse_loss(output, target)
    if not recipe.optimizer.adaptive:
        recipe.optimizer.learning_rate *= 4
    recipe.good = 0.6


@trick(lambda recipe: single(recipe) and recipe.task == "binary")
def probabilities_and_bce(recipe: Recipe, rng: random.Random) -> None:
    """One sigmoid in the model and the loss that takes probabilities."""
    recipe.after_build.append(
        lambda model: patch_forward(model, "", lambda forward: lambda *inputs: torch.sigmoid(forward(*inputs)))
    )
    recipe.objective = lambda output, target, inputs: F.binary_cross_entropy(output, target)
    recipe.predict = lambda output: output - 0.5
    recipe.loop.autocast = None


@trick(float_classes)
def log_probabilities(recipe: Recipe, rng: random.Random) -> None:
    """log_softmax in the model and nll_loss outside: one softmax."""
    recipe.after_build.append(
        lambda model: patch_forward(model, "", lambda forward: lambda *inputs: F.log_softmax(forward(*inputs), 1))
    )
    recipe.objective = lambda output, target, inputs: F.nll_loss(output, target)


@trick(lambda recipe: recipe.family in ("mlp_classifier", "mlp_regressor", "autoencoder", "siamese"))
def stopped_gradient(recipe: Recipe, rng: random.Random) -> None:
    """A consistency term with a detached target, as in self-distillation; every parameter still gets a gradient."""
    objective = recipe.objective

    def consistent(output: Any, target: Tensor, inputs: Any) -> Tensor:
        first = output[0] if isinstance(output, tuple) else output
        return objective(output, target, inputs) + 0.05 * (first - first.detach().roll(1, 0)).pow(2).mean()

    recipe.objective = consistent


@trick(lambda recipe: single(recipe) and recipe.style.norm != "none" and "depth" in recipe.knobs)
def large_weights_under_norm(recipe: Recipe, rng: random.Random) -> None:
    """Weights five times too large in front of a norm, which undoes it."""
    paths = hidden(recipe)[:2]

    def grow(model: nn.Module) -> None:
        with torch.no_grad():
            for path in paths:
                model.get_submodule(path).weight.mul_(5)

    recipe.after_build.append(grow)
    if not recipe.optimizer.adaptive:
        recipe.optimizer.learning_rate *= 2


@trick(lambda recipe: recipe.family in ("mlp_regressor", "mlp_classifier"))
def gated_linear(recipe: Recipe, rng: random.Random) -> None:
    """A linear bottleneck in the middle of a nonlinear stack, on purpose."""
    recipe.style.norm = "none"
    names = hidden(recipe)

    def split(model: nn.Module) -> None:
        path = names[-1]
        owner = model.get_submodule(path.rpartition(".")[0])
        part = model.get_submodule(path)
        if isinstance(part, nn.Linear):
            setattr(
                owner,
                path.rpartition(".")[2],
                nn.Sequential(nn.Linear(part.in_features, 12, bias=False), nn.Linear(12, part.out_features)),
            )

    recipe.after_build.append(split)


@trick(lambda recipe: recipe.family == "gan")
def gan_oscillates(recipe: Recipe, rng: random.Random) -> None:
    """Two players: both losses swing and the samples are right."""
    recipe.optimizer.learning_rate *= rng.uniform(0.8, 1.2)


@trick(lambda recipe: single(recipe) and "float_input" in recipe.tags)
def mild_scale(recipe: Recipe, rng: random.Random) -> None:
    """Inputs that are not quite standardized, and do no harm."""
    factor, offset = rng.uniform(0.6, 1.6), rng.uniform(-0.4, 0.4)
    draw = recipe.draw

    def changed(count, generator, style):  # type: ignore[no-untyped-def]
        data = draw(count, generator, style)
        return Dataset((data.inputs[0] * factor + offset, *data.inputs[1:]), data.target)

    recipe.draw = changed
