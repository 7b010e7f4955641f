"""Training loops whose step is timed: each workload is a function that makes one step, and the model it trains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass
class Workload:
    """One model with its loop body."""

    model: nn.Module
    step: Callable[[], None]


def _loop(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: list[tuple[Tensor, Tensor]],
    loss: Callable[..., Tensor],
) -> Workload:
    state = [0]

    def step() -> None:
        x, y = batches[state[0] % len(batches)]
        state[0] += 1
        optimizer.zero_grad()
        value = loss(model(x), y)
        value.backward()
        optimizer.step()

    return Workload(model, step)


def mlp() -> Workload:
    """10-64-64-1, batch 32, Adam: half a millisecond a step."""
    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    batches = [(torch.randn(32, 10), torch.randn(32, 1)) for _ in range(8)]
    return _loop(model, torch.optim.Adam(model.parameters(), 1e-3), batches, F.mse_loss)


def cnn() -> Workload:
    """About twenty convolution, batch norm, ReLU on 32×32 images, batch 64."""
    layers: list[nn.Module] = []
    width = 3
    for index in range(20):
        out = 16 if index < 7 else 32 if index < 14 else 64
        layers += [
            nn.Conv2d(width, out, 3, padding=1, stride=2 if index in (7, 14) else 1),
            nn.BatchNorm2d(out),
            nn.ReLU(),
        ]
        width = out
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))
    batches = [(torch.randn(64, 3, 32, 32), torch.randint(10, (64,))) for _ in range(2)]
    return _loop(model, torch.optim.SGD(model.parameters(), 0.01, momentum=0.9), batches, F.cross_entropy)


class _Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first_norm, self.second_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, -1).transpose(1, 2)
            for part in self.qkv(self.first_norm(x)).chunk(3, -1)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.second_norm(x))))


class _Gpt(nn.Module):
    def __init__(self, vocabulary: int, width: int, layers: int, length: int) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(_Block(width, 8) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.token(tokens) + self.position(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def _tokens_loss(output: Tensor, target: Tensor) -> Tensor:
    return F.cross_entropy(output.flatten(0, 1), target.flatten())


def gpt() -> Workload:
    """Six layers of width 256 on 8 × 128 tokens, AdamW."""
    model = _Gpt(256, 256, 6, 128)
    batches = [(torch.randint(256, (8, 128)), torch.randint(256, (8, 128))) for _ in range(2)]
    return _loop(model, torch.optim.AdamW(model.parameters(), 3e-4), batches, _tokens_loss)


def _deep_model() -> nn.Sequential:
    layers: list[nn.Module] = []
    for _ in range(50):
        layers += [nn.Linear(256, 256), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(256, 10))


def deep() -> Workload:
    """Fifty layers of 256, batch 256, SGD."""
    model = _deep_model()
    batches = [(torch.randn(256, 256), torch.randint(10, (256,))) for _ in range(2)]
    return _loop(model, torch.optim.SGD(model.parameters(), 0.01), batches, F.cross_entropy)


def k1000() -> Workload:
    """A thousand small modules in a row."""
    layers: list[nn.Module] = []
    for _ in range(500):
        layers += [nn.Linear(8, 8), nn.Tanh()]
    model = nn.Sequential(*layers)
    batches = [(torch.randn(16, 8), torch.randn(16, 8)) for _ in range(2)]
    return _loop(model, torch.optim.SGD(model.parameters(), 0.01), batches, F.mse_loss)


class _Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.lstm, self.head = (
            nn.Embedding(100, 64),
            nn.LSTM(64, 128, batch_first=True),
            nn.Linear(128, 100),
        )

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.lstm(self.embedding(tokens))[0])


def lstm() -> Workload:
    """An LSTM of 128 units on 32 × 32 tokens, Adam."""
    model = _Recurrent()
    batches = [(torch.randint(100, (32, 32)), torch.randint(100, (32, 32))) for _ in range(4)]
    return _loop(model, torch.optim.Adam(model.parameters(), 1e-3), batches, _tokens_loss)


def compiled_deep() -> Workload:
    """The deep MLP through torch.compile."""
    plain = _deep_model()
    model = torch.compile(plain)
    batches = [(torch.randn(256, 256), torch.randint(10, (256,))) for _ in range(2)]
    workload = _loop(model, torch.optim.SGD(plain.parameters(), 0.01), batches, F.cross_entropy)
    return Workload(plain, workload.step)


def compiled_gpt() -> Workload:
    """A GPT of four layers of width 128 through torch.compile."""
    plain = _Gpt(256, 128, 4, 128)
    model = torch.compile(plain)
    batches = [(torch.randint(256, (8, 128)), torch.randint(256, (8, 128))) for _ in range(2)]
    workload = _loop(model, torch.optim.AdamW(plain.parameters(), 3e-4), batches, _tokens_loss)
    return Workload(plain, workload.step)


WORKLOADS: dict[str, Callable[[], Workload]] = {
    function.__name__: function for function in (mlp, cnn, gpt, deep, k1000, lstm, compiled_deep, compiled_gpt)
}
