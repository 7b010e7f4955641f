"""Convolutional stacks in three hands."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from bench.faultbench.layers import activation, activation_module, norm2d
from bench.faultbench.recipe import Style


class SequentialConvolutions(nn.Module):
    """``features`` and ``classifier``, both nn.Sequential."""

    def __init__(self, channels: int, outputs: int, size: int, style: Style) -> None:
        super().__init__()
        parts: list[nn.Module] = []
        width = channels
        for index in range(style.depth):
            if index == style.skip and index > 0:
                continue
            parts += [nn.Conv2d(width, style.width, 3, padding=1), norm2d(style, style.width), activation_module(style)]
            if index < 2:
                parts.append(nn.MaxPool2d(2))
            width = style.width
        self.features = nn.Sequential(*(part for part in parts if not isinstance(part, nn.Identity)))
        side = size // 2 ** min(2, style.depth)
        self.classifier = nn.Sequential(
            nn.Flatten(), nn.Dropout(style.dropout), nn.Linear(width * side * side, outputs)
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x))


class NamedConvolutions(nn.Module):
    """conv1, bn1, conv2, ..., fc; average over the positions at the end."""

    def __init__(self, channels: int, outputs: int, size: int, style: Style) -> None:
        super().__init__()
        self.style = style
        width = channels
        for index in range(style.depth):
            setattr(self, f"conv{index + 1}", nn.Conv2d(width, style.width, 3, padding=1))
            if style.norm != "none":
                setattr(self, f"bn{index + 1}", norm2d(style, style.width))
            width = style.width
        self.act = activation(style)
        if style.dropout and not style.functional:
            self.dropout = nn.Dropout(style.dropout)
        self.fc1 = nn.Linear(width * (size // 4) ** 2 if style.depth > 1 else width * (size // 2) ** 2, 32)
        self.fc2 = nn.Linear(32, outputs)

    def forward(self, x: Tensor) -> Tensor:
        style = self.style
        for index in range(style.depth):
            if index == style.skip and index > 0:
                continue
            x = getattr(self, f"conv{index + 1}")(x)
            if style.norm != "none":
                x = getattr(self, f"bn{index + 1}")(x)
            x = self.act(x)
            if index < 2:
                x = F.max_pool2d(x, 2)
        x = self.act(self.fc1(x.flatten(1)))
        if style.dropout:
            x = F.dropout(x, style.dropout, self.training) if style.functional else self.dropout(x)
        return self.fc2(x)


class Block(nn.Module):
    """Convolution, norm, activation."""

    def __init__(self, inputs: int, outputs: int, style: Style) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 3, padding=1, bias=style.norm == "none")
        self.norm = norm2d(style, outputs)
        self.act = activation(style)

    def forward(self, x: Tensor) -> Tensor:
        return self.act(self.norm(self.conv(x)))


class BlockConvolutions(nn.Module):
    """``stem``, a ModuleList ``blocks``, ``head``."""

    def __init__(self, channels: int, outputs: int, size: int, style: Style) -> None:
        super().__init__()
        self.style = style
        self.stem = Block(channels, style.width, style)
        self.blocks = nn.ModuleList(Block(style.width, style.width, style) for _ in range(style.depth - 1))
        self.drop = nn.Dropout(style.dropout)
        self.head = nn.Linear(style.width * (size // 4) ** 2, outputs)

    def forward(self, x: Tensor) -> Tensor:
        x = F.avg_pool2d(self.stem(x), 2)
        for index, block in enumerate(self.blocks):
            if index + 1 != self.style.skip:
                x = block(x)
        return self.head(self.drop(F.max_pool2d(x, 2).flatten(1)))


def convolutions(channels: int, outputs: int, size: int, style: Style) -> nn.Module:
    """A convolutional classifier in the hand that ``style.naming`` says."""
    hands = (SequentialConvolutions, NamedConvolutions, BlockConvolutions)
    return hands[style.naming % 3](channels, outputs, size, style)


CONVOLUTION_KNOBS = frozenset({"activation", "dropout", "width", "depth", "pre_scale", "skip"})
