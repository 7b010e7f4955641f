"""A function of the loss leaves its domain: log(0), sqrt'(0), 0/0, exp of too much, acos(1), the norm of nothing."""

from __future__ import annotations

import random
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from bench.faultbench.injectors._base import injector, label, single
from bench.faultbench.recipe import UNKNOWN, Dataset, Recipe, geometric


def _class_losses(recipe: Recipe, sharp: float) -> dict[str, Any]:
    axis = 1 if recipe.task == "classes" else -1

    def log_of_softmax(output: Tensor, target: Tensor, inputs: Any) -> Tensor:
        chances = torch.softmax(output * sharp * 4, axis)
        return -chances.gather(axis, target.unsqueeze(axis)).log().mean()

    def all_logs(output: Tensor, target: Tensor, inputs: Any) -> Tensor:
        chances = torch.softmax(output * sharp, axis)
        wanted = F.one_hot(target, chances.shape[axis]).float()
        return -(wanted * torch.log(chances)).sum(axis).mean()

    def entropy(output: Tensor, target: Tensor, inputs: Any) -> Tensor:
        chances = torch.softmax(output * sharp, axis)
        return recipe_loss(output, target, inputs) + 0.01 * (chances * chances.log()).sum(axis).mean()

    def exponents(output: Tensor, target: Tensor, inputs: Any) -> Tensor:
        raised = torch.exp(output * sharp * 2)
        return -torch.log(raised.gather(axis, target.unsqueeze(axis)).squeeze(axis) / raised.sum(axis)).mean()

    recipe_loss = recipe.objective
    return {"log_of_softmax": log_of_softmax, "all_logs": all_logs, "entropy": entropy, "exponents": exponents}


def _binary_losses(recipe: Recipe, sharp: float) -> dict[str, Any]:
    def logs(output: Tensor, target: Tensor, inputs: Any) -> Tensor:
        chance = torch.sigmoid(output * sharp)
        return -(target * torch.log(chance) + (1 - target) * torch.log(1 - chance)).mean()

    def iou(output: Tensor, target: Tensor, inputs: Any) -> Tensor:
        marked = F.relu(output - 1.5 - sharp / 10) * (1 - target)
        return recipe_loss(output, target, inputs) + (marked * marked).sum() / marked.sum()

    recipe_loss = recipe.objective
    return {"logs": logs, "ratio": iou}


def _number_losses(recipe: Recipe, sharp: float) -> dict[str, Any]:
    def pair_distance(output: Tensor, target: Tensor, inputs: Any) -> Tensor:
        flat, wanted = output.flatten(1), target.flatten(1)
        between = ((flat[:, None] - flat[None]) ** 2).sum(-1).sqrt()
        right = ((wanted[:, None] - wanted[None]) ** 2).sum(-1).sqrt()
        return recipe_loss(output, target, inputs) + 0.1 * ((between - right) ** 2).mean()

    def relative(output: Tensor, target: Tensor, inputs: Any) -> Tensor:
        return ((output - target).abs() / F.relu(target.abs() - 0.02 * sharp / 10)).clamp_min(0).mean()

    def log_error(output: Tensor, target: Tensor, inputs: Any) -> Tensor:
        return (torch.log(output + 1.2) - torch.log(target.clamp_min(-1) + 1.2)).pow(2).mean()

    def poisson(output: Tensor, target: Tensor, inputs: Any) -> Tensor:
        return (torch.exp(output * sharp * 4) - target.abs() * output * sharp * 4).mean()

    def root(output: Tensor, target: Tensor, inputs: Any) -> Tensor:
        # Errors within the tolerance are masked, and the root of the mask's zeros has no slope.
        error = (output - target).pow(2)
        return (error * (error > 1e-4 * sharp)).sqrt().mean()

    recipe_loss = recipe.objective
    return {
        "pair_distance": pair_distance,
        "relative": relative,
        "log_error": log_error,
        "poisson": poisson,
        "root": root,
    }


def _custom_losses(recipe: Recipe, sharp: float) -> dict[str, Any]:
    recipe_loss = recipe.objective
    if "pairs" in recipe.tags:

        def bare_root(output: Any, target: Tensor, inputs: Any) -> Tensor:
            squared = ((output[0] - output[1]) ** 2).sum(1)
            return (target * squared + (1 - target) * F.relu(1 - squared.sqrt()) ** 2).mean()

        def angle(output: Any, target: Tensor, inputs: Any) -> Tensor:
            cosine = (F.normalize(output[0], dim=1) * F.normalize(output[1], dim=1)).sum(1)
            return (target * torch.acos(cosine) + (1 - target) * F.relu(1.5 - torch.acos(cosine))).mean()

        return {"bare_root": bare_root, "angle": angle}

    from bench.faultbench.families.vae import parts

    def log_of_spread(output: Any, target: Tensor, inputs: Any) -> Tensor:
        spread = F.relu(parts(output)[2] + 0.3)
        return recipe_loss(output, target, inputs) + 0.01 * (spread**2 - torch.log(spread**2)).mean()

    def free_exponent(output: Any, target: Tensor, inputs: Any) -> Tensor:
        decoded, _, log_variance = parts(output)
        return (
            (decoded - target) ** 2 / torch.exp(-log_variance.mean() * 5 * sharp) - log_variance.mean() * sharp
        ).mean()

    return {"log_of_spread": log_of_spread, "free_exponent": free_exponent}


@injector("loss_domain", applies=single)
def loss_domain(recipe: Recipe, rng: random.Random, strength: float) -> None:
    sharp = geometric(8, 60, strength)
    makers = {"classes": _class_losses, "tokens": _class_losses, "binary": _binary_losses, "regression": _number_losses}
    losses = makers.get(recipe.task, _custom_losses)(recipe, sharp)
    variant = rng.choice(sorted(losses))
    harmless = recipe.objective
    faulty = losses[variant]
    # Some terms are switched on after a while, as people do with penalties.
    start = rng.choice([0, 0, 0, recipe.steps // 4])
    clock = {"step": 0}

    def objective(output: Any, target: Tensor, inputs: Any) -> Tensor:
        chosen = faulty if clock["step"] >= start else harmless
        return chosen(output, target, inputs)

    def tick(batch: Dataset, step: int) -> Dataset:
        clock["step"] = step
        if "pairs" in recipe.tags and step % 5 == 4:
            # Now and then a sample is paired with itself.
            second = batch.inputs[1].clone()
            second[:4] = batch.inputs[0][:4]
            target = batch.target.clone()
            target[:4] = 0.0 if variant == "bare_root" else 1.0
            return Dataset((batch.inputs[0], second), target)
        return batch

    recipe.on_batch.append(tick)
    recipe.objective = objective
    recipe.loop.scaler = None
    recipe.loop.autocast = None
    label(recipe, "loss_domain", variant, onset=UNKNOWN)
