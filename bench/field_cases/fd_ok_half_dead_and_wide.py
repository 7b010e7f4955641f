"""Healthy. A wide layer of ReLUs with biases of minus one to plus a half: a third of its units are zero on nearly
every input from the first step on. There are plenty of others."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fd_ok_half_dead_and_wide",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(6, 400), nn.ReLU(), nn.Linear(400, 64), nn.ReLU(), nn.Linear(64, 1))
    with torch.no_grad():
        model[0].bias.uniform_(-1.5, 0.5)
        model[0].bias[:120] = -4.0
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(350):
            x = torch.randn(64, 6)
            y = torch.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2]
            loss = F.mse_loss(model(x).squeeze(1), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
