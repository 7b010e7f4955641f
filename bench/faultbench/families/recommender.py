"""Recommender: embeddings of users and items, a bag of tags, a dense tower."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bench.faultbench import tasks
from bench.faultbench.families import _common
from bench.faultbench.layers import DENSE_KNOBS, dense
from bench.faultbench.recipe import Dataset, Recipe, Style

USERS, ITEMS, TAGS = 20, 24, 12


class Recommender(nn.Module):
    """User, item and EmbeddingBag of tags, joined and sent through ``tower``; odd naming adds a dot product."""

    def __init__(self, style: Style) -> None:
        super().__init__()
        width = 12
        self.user_emb, self.item_emb = nn.Embedding(USERS, width), nn.Embedding(ITEMS, width)
        self.tag_emb = nn.EmbeddingBag(TAGS, width, mode="mean")
        self.tower = dense(3 * width, 1, style)
        self.dot = style.naming % 2 == 1

    def forward(self, user: Tensor, item: Tensor, tags: Tensor) -> Tensor:
        left, right = self.user_emb(user), self.item_emb(item)
        score = self.tower(torch.cat([left, right, self.tag_emb(tags)], 1))
        return score + (left * right).mean(1, keepdim=True) if self.dot else score


def make(seed: int) -> Recipe:
    rng = _common.source("recommender", seed)
    task = rng.choice(["binary", "regression"])
    truth = _common.teacher(seed)
    user_bias, item_bias, tag_bias = (torch.randn(count, generator=truth) for count in (USERS, ITEMS, TAGS))
    user_side, item_side = torch.randn(USERS, generator=truth).sign(), torch.randn(ITEMS, generator=truth).sign()

    def draw(count: int, generator: torch.Generator, style: Style) -> Dataset:
        user = torch.randint(0, USERS, (count,), generator=generator)
        item = torch.randint(0, ITEMS, (count,), generator=generator)
        tags = torch.randint(0, TAGS, (count, 3), generator=generator)
        score = user_bias[user] + item_bias[item] + tag_bias[tags].mean(1) + user_side[user] * item_side[item]
        score = (score / 1.9)[:, None]
        return Dataset((user, item, tags), (score > 0).float() if task == "binary" else score)

    objective, metric = tasks.standard_parts(task, rng)
    steps = rng.choice([200, 250])
    return Recipe(
        family="recommender",
        seed=seed,
        task=task,
        style=_common.draw_style(rng, dropouts=(0.0, 0.1), widths=(24, 32, 48)),
        knobs=DENSE_KNOBS - {"norm"},
        tags=frozenset({"token_input", "plain_stack", "amp"}),
        build=Recommender,
        draw=draw,
        objective=objective,
        metric=metric,
        predict=tasks.identity,
        optimizer=_common.draw_optimizer(rng, {"momentum": 0.15, "adam": 8e-3, "adamw": 8e-3, "rmsprop": 5e-3}),
        batch=rng.choice([32, 64]),
        steps=steps,
        samples=rng.choice([2048, 4096]),
        loop=_common.draw_loop(rng, steps),
    )
