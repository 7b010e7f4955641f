"""Healthy. Images go in as they come, 0 to 255, and the first layer is a batch norm: that is where they are
standardized."""

from collections.abc import Callable

import torch
from torch import nn

META = dict(
    id="fc_ok_raw_pixels_batch_norm",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


def network() -> nn.Sequential:
    return nn.Sequential(
        nn.BatchNorm2d(3), nn.Conv2d(3, 12, 3), nn.ReLU(), nn.Conv2d(12, 12, 3, stride=2), nn.ReLU(),
        nn.Flatten(), nn.Linear(12 * 9, 5),
    )  # fmt: skip


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    shape = nn.functional.avg_pool2d(torch.randn(5, 3, 10, 10), 3, 1, 1) * 2
    label = torch.randint(0, 5, (600,))
    image = (110 + 35 * shape[label] + 25 * torch.randn(600, 3, 10, 10)).clamp(0, 255).byte()
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    losses = []
    with debug(model):
        for _epoch in range(8):
            for rows in torch.randperm(600).split(24):
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(image[rows].float()), label[rows])
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
