"""Healthy. Two samples in a hundred are positive, nothing is reweighted, and the classes are separable: the loss falls
far below the entropy of the labels and the rare class is found."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

META: dict[str, Any] = dict(
    id="fa_ok_rare_class_learned",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="none",
)


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    rare = (torch.rand(4000) < 0.02).long()
    signal = torch.randn(4000, 1, 32)
    signal[rare == 1] += 2.5 * torch.sin(torch.arange(32.0) * 0.8)
    loader = DataLoader(TensorDataset(signal, rare), batch_size=80, shuffle=True)
    model = nn.Sequential(
        nn.Conv1d(1, 12, 9),
        nn.ReLU(),
        nn.AdaptiveMaxPool1d(4),
        nn.Flatten(),
        nn.Linear(48, 16),
        nn.ReLU(),
        nn.Linear(16, 2),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    with debug(model):
        for _epoch in range(7):
            for window, label in loader:
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(window), label)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
