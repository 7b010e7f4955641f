"""More programs with a switch: losses written by hand, half precision in one operation, layers that do nothing."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.told_apart import Program, points, train


def _aligned(too_short: bool) -> Program:
    """Connectionist temporal classification; now and then a clip has fewer frames than its text needs."""

    def aligned(watch: Any) -> None:
        sound = torch.randn(6, 8)
        model = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 6), nn.LogSoftmax(-1))
        step = iter(range(200))

        def loss() -> Tensor:
            text = torch.randint(1, 6, (8, 4))
            clip = sound[text].repeat_interleave(4, 1) + 0.3 * torch.randn(8, 16, 8)
            frames = torch.full((8,), 16)
            if next(step) == 60 and too_short:
                frames[0] = 3
            return F.ctc_loss(model(clip).transpose(0, 1), text, frames, torch.full((8,), 4))

        train(model, loss, 150, 5e-3, watch, adam=True)

    return aligned


def _overlap(twice: bool) -> Program:
    """A Dice loss of a model that ends in a softmax; wrong: it takes a sigmoid of that."""

    def overlap(watch: Any) -> None:
        inputs, labels = points(400, 3)
        wanted = F.one_hot(labels, 3).float()
        model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3), nn.Softmax(-1))

        def loss() -> Tensor:
            given = model(inputs).sigmoid() if twice else model(inputs)
            return 1 - (2 * (given * wanted).sum(0) / (given.sum(0) + wanted.sum(0))).mean()

        train(model, loss, 300, 5e-3, watch, adam=True)

    return overlap


def _alike(minimized: bool) -> Program:
    def alike(watch: Any) -> None:
        inputs = torch.randn(300, 10)
        meaning = torch.tanh(inputs @ torch.randn(10, 12))
        model = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 12))

        def loss() -> Tensor:
            cosine = F.cosine_similarity(model(inputs), meaning).mean()
            return cosine if minimized else 1 - cosine

        train(model, loss, 250, 5e-3, watch, adam=True)

    return alike


def _rings(slope: float) -> Program:
    """Two rings around the origin: no linear map tells them apart."""

    def rings(watch: Any) -> None:
        leak = nn.LeakyReLU(slope)
        model = nn.Sequential(nn.Linear(2, 64), leak, nn.Linear(64, 64), nn.LeakyReLU(slope), nn.Linear(64, 2))

        def loss() -> Tensor:
            label = torch.randint(0, 2, (64,))
            radius = 1.0 + 1.2 * label + 0.1 * torch.randn(64)
            angle = 6.2832 * torch.rand(64)
            return F.cross_entropy(model(torch.stack([radius * angle.cos(), radius * angle.sin()], 1)), label)

        train(model, loss, 300, 5e-3, watch, adam=True)

    return rings


class _Adapted(nn.Module):
    def __init__(self, added: bool) -> None:
        super().__init__()
        self.base = nn.Linear(24, 24).requires_grad_(False)
        self.down, self.up = nn.Parameter(torch.randn(12, 24) / 5), nn.Parameter(torch.zeros(24, 12))
        self.added = added

    def forward(self, inputs: Tensor) -> Tensor:
        given = self.base(inputs)
        return given + inputs @ self.down.T @ self.up.T if self.added else given


def _adapters(added: bool) -> Program:
    """Low-rank pairs around frozen layers; wrong: forward calls the frozen ones alone."""

    def adapters(watch: Any) -> None:
        model = nn.Sequential(_Adapted(added), nn.Tanh(), _Adapted(added), nn.Tanh(), nn.Linear(24, 2))
        scale = torch.full((24,), 0.2)
        scale[:2] = 2.0

        def loss() -> Tensor:
            inputs = torch.randn(128, 24) * scale
            return F.cross_entropy(model(inputs), (inputs[:, 0] * inputs[:, 1] > 0).long())

        train(model, loss, 400, 1e-2, watch, adam=True)

    return adapters


class _Attention(nn.Module):
    def __init__(self, type_of_numbers: torch.dtype) -> None:
        super().__init__()
        self.all = nn.Linear(16, 48)
        self.type_of_numbers = type_of_numbers

    def forward(self, rows: Tensor, mask: Tensor) -> Tensor:
        query, key, value = self.all(rows).to(self.type_of_numbers).chunk(3, -1)
        hide = torch.tensor(-1e10).to(self.type_of_numbers)
        score = query @ key.transpose(1, 2) / 4 + (1 - mask.to(self.type_of_numbers)).unsqueeze(1) * hide
        return (score.softmax(-1) @ value).float()


def _masked(type_of_numbers: torch.dtype) -> Program:
    """Padding hidden by -1e10, which is minus infinity in float16, and no number times zero."""

    def masked(watch: Any) -> None:
        model = nn.ModuleDict({"attend": _Attention(type_of_numbers), "head": nn.Linear(16, 2)})
        tone = torch.randn(16)

        def loss() -> Tensor:
            rows = torch.randn(32, 12, 16)
            mask = (torch.arange(12) < torch.randint(4, 13, (32, 1))).float()
            label = (((rows @ tone) * mask).sum(1) > 0).long()
            mixed = (rows + model["attend"](rows, mask)) * mask.unsqueeze(-1)
            return F.cross_entropy(model["head"](mixed.sum(1)), label)

        train(model, loss, 150, 1e-2, watch, adam=True)

    return masked


class _Equalized(nn.Module):
    """Weights of unit spread and a gain at each call."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs))

    def forward(self, inputs: Tensor) -> Tensor:
        return F.linear(inputs * self.weight.shape[1] ** -0.5, self.weight)


def equalized_weights(watch: Any) -> None:
    inputs, labels = points()
    model = nn.Sequential(_Equalized(10, 256), nn.ReLU(), _Equalized(256, 4))
    train(model, lambda: F.cross_entropy(model(inputs), labels), 200, 0.02, watch, adam=True)


class _Crossed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))
        self.last = nn.Linear(8, 1)

    def forward(self, inputs: Tensor) -> Tensor:
        hidden = inputs
        for layer in self.layers:
            hidden = inputs * layer(hidden) + hidden
        return self.last(hidden)


def products_with_the_input(watch: Any) -> None:
    """No activation, and no linear model either."""
    inputs = 0.7 * torch.randn(400, 8)
    wanted = inputs[:, :1] * inputs[:, 1:2] + inputs[:, 2:3]
    model = _Crossed()
    train(model, lambda: F.mse_loss(model(inputs), wanted), 300, 1e-2, watch, adam=True)


def _named(program: Program, name: str) -> Program:
    program.__name__ = name
    return program


WRONG: tuple[tuple[Program, str], ...] = (
    (_aligned(True), "invalid_target"),
    (_overlap(True), "redundant_softmax"),
    (_alike(True), "loss_sign"),
    (_rings(1.0), "missing_nonlinearity"),
    (_adapters(False), "unused_parameters"),
    (_masked(torch.float16), "half_precision_overflow"),
)
RIGHT: tuple[Program, ...] = (
    _named(_aligned(False), "clips_that_are_long_enough"),
    _named(_overlap(False), "overlap_of_probabilities"),
    _named(_alike(False), "one_minus_the_cosine"),
    _named(_rings(0.1), "rings_with_a_leak"),
    _named(_adapters(True), "adapters_that_are_added"),
    _named(_masked(torch.bfloat16), "mask_in_bfloat16"),
    equalized_weights,
    products_with_the_input,
)
