"""Programs with a switch: one line wrong, or right. What the wrong one does shows in no number of a single layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.told_apart import Program, network, points, train


class _Attention(nn.Module):
    """Pools rows by attention, with functional dropout or a module."""

    def __init__(self, dropout: Callable[[_Attention, Tensor], Tensor]) -> None:
        super().__init__()
        self.key, self.value, self.last = nn.Linear(6, 20), nn.Linear(6, 20), nn.Linear(20, 3)
        self.module = nn.Dropout(0.5)
        self.dropout = dropout

    def forward(self, rows: Tensor) -> Tensor:
        share = self.dropout(self, self.key(rows).mean(2).softmax(1))
        return self.last(self.dropout(self, (share.unsqueeze(2) * self.value(rows)).sum(1)).relu())


def _validated(dropout: Callable[[_Attention, Tensor], Tensor], module_stays_on: bool = False) -> Program:
    def validated(watch: Any) -> None:
        centres = torch.randn(3, 1, 6)
        labels = torch.randint(0, 3, (500,))
        rows = centres[labels] + 0.5 * torch.randn(500, 5, 6)
        model = _Attention(dropout)
        optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
        with watch(model):
            for _ in range(10):
                model.train()
                for chosen in torch.randperm(400).split(20):
                    optimizer.zero_grad()
                    F.cross_entropy(model(rows[chosen]), labels[chosen]).backward()
                    optimizer.step()
                model.eval()
                model.module.train(module_stays_on)
                with torch.no_grad():
                    F.cross_entropy(model(rows[400:]), labels[400:])

    return validated


dropout_that_ignores_the_mode = _validated(lambda _, values: F.dropout(values, 0.5))
dropout_that_minds_the_mode = _validated(lambda model, values: F.dropout(values, 0.5, model.training))


class _Quantized(nn.Module):
    def __init__(self, straight_through: bool) -> None:
        super().__init__()
        self.below = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 6))
        self.above = nn.Linear(6, 4)
        self.straight_through = straight_through

    def forward(self, inputs: Tensor) -> Tensor:
        values = self.below(inputs)
        rounded = torch.round(values * 4) / 4
        return self.above(values + (rounded - values).detach() if self.straight_through else rounded)


def _rounded(straight_through: bool) -> Program:
    def rounded(watch: Any) -> None:
        inputs, labels = points()
        model = _Quantized(straight_through)
        train(model, lambda: F.cross_entropy(model(inputs), labels), 200, 5e-3, watch, adam=True)

    return rounded


rounding_without_a_slope = _rounded(False)
rounding_with_a_slope = _rounded(True)


def _policy(logits: bool) -> Program:
    def policy(watch: Any) -> None:
        rule = torch.randn(10, 6)
        model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 6), nn.Softmax(-1))

        def loss() -> Tensor:
            state = torch.randn(64, 10)
            choice = torch.distributions.Categorical(**{"logits" if logits else "probs": model(state)})
            action = choice.sample()
            reward = (action == (state @ rule).argmax(1)).float()
            return -(choice.log_prob(action) * (reward - reward.mean())).mean()

        train(model, loss, 300, 1e-2, watch, adam=True)

    return policy


probabilities_as_logits = _policy(True)
probabilities_as_such = _policy(False)


def _pair(thawed: bool) -> Program:
    """The critic rests while the generator learns; wrong: for good."""

    def pair(watch: Any) -> None:
        generator, critic = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 2)), network(1)
        critic[0] = nn.Linear(2, 32)
        model = nn.ModuleDict({"generator": generator, "critic": critic})
        anchor = nn.Parameter(torch.zeros(1))
        model.register_parameter("anchor", anchor)
        first = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.9))
        second = torch.optim.Adam([*critic.parameters(), anchor], lr=4e-3, betas=(0.5, 0.9))
        with watch(model):
            for _ in range(300):
                critic.requires_grad_(False)
                fake = generator(torch.randn(64, 3))
                first.zero_grad()
                F.softplus(-critic(fake)).mean().backward()
                first.step()
                critic.requires_grad_(thawed)
                real = torch.tensor([2.0, -1.0]) + 0.6 * torch.randn(64, 2)
                second.zero_grad()
                on_real, on_fake = critic(real) + anchor, critic(fake.detach()) + anchor
                (F.softplus(-on_real).mean() + F.softplus(on_fake).mean()).backward()
                second.step()

    return pair


critic_never_thawed = _pair(False)
critic_that_rests = _pair(True)

WRONG: tuple[tuple[Program, str], ...] = (
    (dropout_that_ignores_the_mode, "validation_mismatch"),
    (rounding_without_a_slope, "detached_graph"),
    (probabilities_as_logits, "redundant_softmax"),
    (critic_never_thawed, "frozen_parameters"),
)
RIGHT: tuple[Program, ...] = (
    dropout_that_minds_the_mode,
    # Monte Carlo dropout: a module that was put in train mode by itself was meant to drop.
    _validated(lambda model, values: model.module(values), module_stays_on=True),
    rounding_with_a_slope,
    probabilities_as_such,
    critic_that_rests,
)
