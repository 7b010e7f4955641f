"""Healthy. Label smoothing of 0.2 over ten classes: the loss settles near 0.87, which is the entropy of the smoothed
targets, and every sample is classified right."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

META: dict[str, Any] = dict(
    id="fa_ok_label_smoothing_floor",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="none",
)


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    centre = 3 * nn.functional.normalize(torch.randn(10, 20), dim=1)
    label = torch.randint(0, 10, (1600,))
    loader = DataLoader(TensorDataset(centre[label] + 0.35 * torch.randn(1600, 20), label), batch_size=40, shuffle=True)
    model = nn.Sequential(nn.Linear(20, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 10))
    criterion = nn.CrossEntropyLoss(label_smoothing=0.2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    with debug(model):
        for _epoch in range(7):
            for x, y in loader:
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
