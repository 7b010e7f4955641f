"""House prices are regressed in dollars. The first loss is 5e10, Adam moves each weight by its learning rate per step,
and after hundreds of steps the net is still below all prices. Repair: standardize the prices. The returned list is in
units of the prices' variance."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

META: dict[str, Any] = dict(
    id="fa_prices_in_dollars",
    source="widely reported: house-price regression with a loss of 1e10 that hardly moves",
    cause="unscaled_target",
    also=["learning_rate_too_low"],
    layer=None,
    onset=(0, 0),
    symptom="slow",
)


class PriceNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.input = nn.Linear(8, 32)
        self.hidden = nn.Linear(32, 32)
        self.price = nn.Linear(32, 1)

    def forward(self, house: Tensor) -> Tensor:
        house = nn.functional.leaky_relu(self.input(house))
        return self.price(nn.functional.leaky_relu(self.hidden(house)))


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    house = torch.randn(1024, 8)
    price = 215_000 + 60_000 * (house[:, :1] + 0.6 * house[:, 1:2] - 0.5 * house[:, 2:3] * house[:, 3:4])
    if healthy:
        price = (price - price.mean()) / price.std()
    loader = DataLoader(TensorDataset(house, price), batch_size=32, shuffle=True)
    unit = price.var().item()
    model = PriceNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=6, gamma=0.5)
    losses = []
    with debug(model):
        for _epoch in range(12):
            for features, target in loader:
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(model(features), target)
                loss.backward()
                optimizer.step()
                losses.append(loss.item() / unit)
            scheduler.step()
    return losses
