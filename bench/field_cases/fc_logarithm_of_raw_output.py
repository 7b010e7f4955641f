"""The squared error of logarithms is taken of a linear output as it comes. Demand is positive and the output starts
around zero: as soon as one prediction is below -1 the loss is NaN. Repair: clamp the prediction at zero in the
logarithm, with a softplus before it."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_logarithm_of_raw_output",
    source="widely reported: RMSLE of a negative prediction",
    cause="loss_domain",
    also=[],
    layer=None,
    onset=(0, 150),
    symptom="loss_nan",
)


def squared_log_error(prediction: Tensor, demand: Tensor) -> Tensor:
    return (torch.log(prediction + 1) - torch.log(demand + 1)).square().mean()


class DemandNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.shop = nn.Embedding(12, 6)
        self.weekday = nn.Embedding(7, 3)
        self.net = nn.Sequential(nn.Linear(13, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, shop: Tensor, weekday: Tensor, rest: Tensor) -> Tensor:
        return self.net(torch.cat([self.shop(shop), self.weekday(weekday), rest], 1)).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    shop, weekday, rest = torch.randint(0, 12, (1500,)), torch.randint(0, 7, (1500,)), 2 * torch.randn(1500, 4)
    level = -0.5 + 0.6 * torch.randn(12)[shop] + 0.3 * torch.randn(7)[weekday] + 0.5 * rest[:, 0]
    demand = torch.poisson(level.clamp(-3, 3).exp())
    model = DemandNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    with debug(model):
        for _ in range(300):
            rows = torch.randint(0, 1500, (40,))
            prediction = model(shop[rows], weekday[rows], rest[rows])
            if healthy:
                prediction = nn.functional.softplus(prediction)
            loss = squared_log_error(prediction, demand[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
