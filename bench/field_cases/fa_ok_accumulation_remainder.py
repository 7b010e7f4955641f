"""Healthy. Gradients of three micro-batches are accumulated, 25 batches make an epoch, and the remainder is stepped at
its end: the distance between steps is three, three, ..., one."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

META: dict[str, Any] = dict(
    id="fa_ok_accumulation_remainder",
    source="compare github.com/ultralytics/ultralytics/pull/11217",
    cause="none",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="none",
)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(4, 24)
        self.out = nn.Linear(24, 1)

    def forward(self, series: Tensor) -> Tensor:
        state = torch.zeros(len(series), 24)
        for moment in series.unbind(1):
            state = self.cell(moment, state)
        return self.out(state).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    series = torch.randn(400, 8, 4)
    target = series[:, :, 0].cumsum(1)[:, -1] / 3 + 0.5 * series[:, -1, 1]
    loader = DataLoader(TensorDataset(series, target), batch_size=16, shuffle=True)
    model = Recurrent()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    every, losses = 3, []
    with debug(model):
        for _epoch in range(10):
            for number, (batch, goal) in enumerate(loader):
                loss = nn.functional.mse_loss(model(batch), goal)
                (loss / every).backward()
                losses.append(loss.item())
                if (number + 1) % every == 0 or number + 1 == len(loader):
                    optimizer.step()
                    optimizer.zero_grad()
    return losses
