"""Healthy. A quarter of the labels are drawn at random and each sample is seen once: the loss falls from log(6) = 1.79
to about 0.85 and stays at the floor that the noise sets, with gradients that don't get smaller."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

META: dict[str, Any] = dict(
    id="fa_ok_noisy_labels_floor",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="none",
)


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    centre = 4 * nn.functional.normalize(torch.randn(6, 15), dim=1)
    model = nn.Sequential(nn.Linear(15, 40), nn.SiLU(), nn.Linear(40, 6))
    optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
    losses = []
    with debug(model):
        for _step in range(360):
            truth = torch.randint(0, 6, (48,))
            x = centre[truth] + 0.4 * torch.randn(48, 15)
            label = torch.where(torch.rand(48) < 0.25, torch.randint(0, 6, (48,)), truth)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), label)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
