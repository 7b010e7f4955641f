"""Healthy. Attention that has to look up one entry of a table becomes one-hot in the course of training: the softmax is
saturated in the end because the answer is certain, and the loss is near zero."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_ok_attention_sharpens",
    source="a public report",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Lookup(nn.Module):
    def __init__(self, keys: int = 12, values: int = 8, width: int = 32) -> None:
        super().__init__()
        self.key = nn.Embedding(keys, width)
        self.value = nn.Embedding(values, width)
        self.ask = nn.Linear(width, width)
        self.softmax = nn.Softmax(dim=1)
        self.out = nn.Linear(width, values)

    def forward(self, key: Tensor, value: Tensor, asked: Tensor) -> Tensor:
        score = torch.einsum("bnd,bd->bn", self.key(key), self.ask(self.key(asked))) / 32**0.5
        return self.out(torch.einsum("bn,bnd->bd", self.softmax(score), self.value(value)))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Lookup()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    with debug(model):
        for _ in range(400):
            key = torch.stack([torch.randperm(12)[:6] for _ in range(32)])
            value = torch.randint(0, 8, (32, 6))
            place = torch.randint(0, 6, (32,))
            row = torch.arange(32)
            loss = F.cross_entropy(model(key, value, key[row, place]), value[row, place])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
