"""Tickets with a shop, a weekday and three numbers, one of which is the moment of sale in seconds since 1970. It
goes in as 1.6e9 beside columns of unit size; the first loss is in the millions, and the other columns have no say.
Repair: standardize the columns."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_unix_time_column",
    source="widely reported: a timestamp as a plain numeric feature",
    cause="unnormalized_input",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class TicketNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.shop = nn.Embedding(20, 4)
        self.weekday = nn.Embedding(7, 3)
        self.trunk = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.sold = nn.Linear(32, 1)

    def forward(self, shop: Tensor, weekday: Tensor, numbers: Tensor) -> Tensor:
        h = torch.cat([self.shop(shop), self.weekday(weekday), numbers], 1)
        return self.sold(self.trunk(h)).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    count = 2000
    shop, weekday = torch.randint(0, 20, (count,)), torch.randint(0, 7, (count,))
    moment = 1.6e9 + 3e7 * torch.rand(count)
    price, discount = torch.randn(count), torch.randn(count)
    season = (moment - 1.6e9) / 3e7
    popularity = torch.randn(20)
    sold = popularity[shop] - price * (1 + 0.3 * (weekday > 4)) + discount * (season > 0.5) + 0.2 * torch.randn(count)
    numbers = torch.stack([moment, price, discount], 1)
    if healthy:
        numbers = (numbers - numbers.mean(0)) / numbers.std(0)
    model = TicketNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    with debug(model):
        for _epoch in range(8):
            for rows in torch.randperm(count).split(40):
                loss = F.mse_loss(model(shop[rows], weekday[rows], numbers[rows]), sold[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
