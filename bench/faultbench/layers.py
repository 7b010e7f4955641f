"""Pieces that the families share: activations in several hands, norms, dropout, a dense stack."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench.faultbench.recipe import Style

MODULES: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "relu_inplace": lambda: nn.ReLU(inplace=True),
    "leaky_relu": lambda: nn.LeakyReLU(0.1),
    "gelu": nn.GELU,
    "silu": nn.SiLU,
    "elu": nn.ELU,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "hardtanh": nn.Hardtanh,
    "softmax": lambda: nn.Softmax(dim=-1),
    "identity": nn.Identity,
}
FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "relu_inplace": torch.relu_,
    "leaky_relu": lambda z: F.leaky_relu(z, 0.1),
    "gelu": F.gelu,
    "silu": F.silu,
    "elu": F.elu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "hardtanh": F.hardtanh,
    "softmax": lambda z: F.softmax(z, dim=-1),
    "identity": lambda z: z,
}


class Steep(nn.Module):
    """An activation of ``scale`` times its input."""

    def __init__(self, inner: nn.Module, scale: float) -> None:
        super().__init__()
        self.inner = inner
        self.scale = scale

    def forward(self, z: Tensor) -> Tensor:
        return self.inner(z * self.scale)


def activation(style: Style) -> Callable[[Tensor], Tensor]:
    """A module, or a plain function where the style is functional."""
    scale = style.pre_scale
    if style.functional:
        function = FUNCTIONS[style.activation]
        return function if scale == 1 else lambda z: function(z * scale)
    module = MODULES[style.activation]()
    return module if scale == 1 else Steep(module, scale)


def activation_module(style: Style) -> nn.Module:
    """As ``activation``, always a module (for Sequential)."""
    module = MODULES[style.activation]()
    return module if style.pre_scale == 1 else Steep(module, style.pre_scale)


def norm1d(style: Style, width: int) -> nn.Module | None:
    return {"batch": nn.BatchNorm1d, "layer": nn.LayerNorm}[style.norm](width) if style.norm != "none" else None


def norm2d(style: Style, channels: int) -> nn.Module:
    if style.norm == "batch":
        return nn.BatchNorm2d(channels)
    if style.norm == "layer":
        return nn.GroupNorm(1, channels)
    return nn.Identity()


class SequentialDense(nn.Module):
    """Linear stack as one nn.Sequential called ``net``."""

    def __init__(self, inputs: int, outputs: int, style: Style) -> None:
        super().__init__()
        parts: list[nn.Module] = []
        width = inputs
        for index in range(style.depth):
            if index == style.skip and index > 0:
                continue
            parts.append(nn.Linear(width, style.width))
            norm = norm1d(style, style.width)
            if norm is not None:
                parts.append(norm)
            parts.append(activation_module(style))
            if style.dropout:
                parts.append(nn.Dropout(style.dropout))
            width = style.width
        parts.append(nn.Linear(width, outputs))
        self.net = nn.Sequential(*parts)

    def forward(self, x: Tensor) -> Tensor:
        return self.net(x)


class NamedDense(nn.Module):
    """Linear stack with attributes fc1, fc2, ..., out."""

    def __init__(self, inputs: int, outputs: int, style: Style) -> None:
        super().__init__()
        width = inputs
        self.style = style
        for index in range(style.depth):
            setattr(self, f"fc{index + 1}", nn.Linear(width, style.width))
            norm = norm1d(style, style.width)
            if norm is not None:
                setattr(self, f"norm{index + 1}", norm)
            width = style.width
        self.act = activation(style)
        if style.dropout and not style.functional:
            self.drop = nn.Dropout(style.dropout)
        self.out = nn.Linear(width, outputs)

    def forward(self, x: Tensor) -> Tensor:
        style = self.style
        for index in range(style.depth):
            if index == style.skip and index > 0:
                continue
            hidden = getattr(self, f"fc{index + 1}")(x)
            if style.norm != "none":
                hidden = getattr(self, f"norm{index + 1}")(hidden)
            hidden = self.act(hidden)
            if style.dropout:
                hidden = F.dropout(hidden, style.dropout, self.training) if style.functional else self.drop(hidden)
            x = x + hidden if style.residual and hidden.shape == x.shape else hidden
        return self.out(x)


class ListedDense(nn.Module):
    """Linear stack in a ModuleList ``layers`` with its own activation per layer, and ``head``."""

    def __init__(self, inputs: int, outputs: int, style: Style) -> None:
        super().__init__()
        self.style = style
        widths = [inputs] + [style.width] * style.depth
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(widths))
        if style.norm != "none":
            self.norms = nn.ModuleList(norm1d(style, style.width) for _ in range(style.depth))
        self.functional = activation(style) if style.functional else None
        if not style.functional:
            self.acts = nn.ModuleList(activation_module(style) for _ in range(style.depth))
        self.dropout = nn.Dropout(style.dropout)
        self.head = nn.Linear(widths[-1], outputs)

    def forward(self, x: Tensor) -> Tensor:
        for index, layer in enumerate(self.layers):
            if index == self.style.skip and index > 0:
                continue
            hidden = layer(x)
            if self.style.norm != "none":
                hidden = self.norms[index](hidden)
            hidden = self.functional(hidden) if self.functional is not None else self.acts[index](hidden)
            if self.style.dropout:
                hidden = self.dropout(hidden)
            x = x + hidden if self.style.residual and hidden.shape == x.shape else hidden
        return self.head(x)


def dense(inputs: int, outputs: int, style: Style) -> nn.Module:
    """A dense stack in the hand that ``style.naming`` says."""
    return (SequentialDense, NamedDense, ListedDense)[style.naming % 3](inputs, outputs, style)


#: Knobs that ``dense`` honours.
DENSE_KNOBS = frozenset({"activation", "norm", "dropout", "width", "depth", "pre_scale", "skip"})
