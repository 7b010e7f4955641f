"""ReduceLROnPlateau with a patience of two is fed the loss of every batch. Batch losses are noisy, so that it sees a
plateau everywhere and takes the rate down within seconds. Repair: feed it the mean of an epoch."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_plateau_on_single_batches",
    source="widely reported: ReduceLROnPlateau stepped with the batch loss",
    cause="learning_rate_collapsed",
    also=[],
    layer=None,
    onset=(5, 80),
    symptom="loss_plateau",
)


class Tabular(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.region, self.trade = nn.Embedding(15, 5), nn.Embedding(9, 4)
        self.layers = nn.Sequential(nn.Linear(15, 48), nn.SiLU(), nn.LayerNorm(48), nn.Linear(48, 1))

    def forward(self, region: Tensor, trade: Tensor, numbers: Tensor) -> Tensor:
        return self.layers(torch.cat([self.region(region), self.trade(trade), numbers], 1)).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    region, trade, numbers = torch.randint(0, 15, (1600,)), torch.randint(0, 9, (1600,)), torch.randn(1600, 6)
    effect, rule = torch.randn(15), torch.randn(6)
    wage = effect[region] + numbers @ rule * (0.5 + 0.2 * trade) + 0.2 * torch.randn(1600)
    wage = wage / wage.std()
    model = Tabular()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.3, patience=2)
    losses = []
    with debug(model):
        for _epoch in range(10):
            total = 0.0
            for rows in torch.randperm(1600).split(40):
                loss = F.mse_loss(model(region[rows], trade[rows], numbers[rows]), wage[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.item()
                losses.append(loss.item())
                if not healthy:
                    scheduler.step(loss.item())
            if healthy:
                scheduler.step(total / 40)
    return losses
