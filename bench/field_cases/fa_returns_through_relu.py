"""Daily returns are standardized, half of them negative, and the forecaster was taken from a demand forecast whose
last layer is a ReLU. It can say zero or more. Repair: no activation at the end."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

META: dict[str, Any] = dict(
    id="fa_returns_through_relu",
    source="widely reported: a ReLU at the end of a regression with negative targets",
    cause="wrong_output_activation",
    also=["dying_relu"],
    layer=["head.3", "head", "head.2", ""],
    onset=(0, 0),
    symptom="loss_plateau",
)


class ReturnForecaster(nn.Module):
    def __init__(self, healthy: bool) -> None:
        super().__init__()
        self.conv = nn.Conv1d(3, 16, 3)
        last: list[nn.Module] = [nn.Linear(16 * 6, 24), nn.ELU(), nn.Linear(24, 1)]
        self.head = nn.Sequential(*last) if healthy else nn.Sequential(*last, nn.ReLU())

    def forward(self, window: Tensor) -> Tensor:
        return self.head(nn.functional.elu(self.conv(window)).flatten(1)).squeeze(-1)


def train_one_epoch(
    model: nn.Module, loader: DataLoader[Any], criterion: nn.Module, optimizer: torch.optim.Optimizer
) -> list[float]:
    losses = []
    for window, future in loader:
        optimizer.zero_grad()
        loss = criterion(model(window), future)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    window = torch.randn(1500, 3, 8)
    future = window[:, 0, -3:].sum(1) - 0.8 * window[:, 1].mean(1) + torch.tanh(window[:, 2, -1] * window[:, 0, 0])
    future = (future - future.mean()) / future.std()
    loader = DataLoader(TensorDataset(window, future), batch_size=30, shuffle=True)
    model = ReturnForecaster(healthy)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses: list[float] = []
    with debug(model):
        for _epoch in range(7):
            losses += train_one_epoch(model, loader, nn.MSELoss(), optimizer)
    return losses
