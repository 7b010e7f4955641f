"""Healthy. The parity of four of nine bits: for some hundred steps the loss stays near ln 2 as if nothing could be
learnt, then it drops to nothing."""

from collections.abc import Callable

import torch
from torch import nn

META = dict(
    id="fc_ok_late_drop",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(9, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(550):
            bits = torch.randint(0, 2, (64, 9))
            label = bits[:, :4].sum(1) % 2
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(2.0 * bits - 1), label)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
