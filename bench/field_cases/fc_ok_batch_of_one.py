"""Healthy. One sample at a time under layer norm: the single losses jump by orders of magnitude, their mean falls."""

from collections.abc import Callable

import torch
from torch import nn

META = dict(
    id="fc_ok_batch_of_one",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    center = 2 * torch.randn(5, 8)
    model = nn.Sequential(nn.Linear(8, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 5))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    losses = []
    with debug(model):
        for _ in range(600):
            label = torch.randint(0, 5, (1,))
            x = center[label] + torch.randn(1, 8)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), label)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
