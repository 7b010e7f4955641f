"""Click-through rates from a table: counts enter as their logarithm, and a user without any visit has log(0), minus
infinity. Such users are rare, so the first batches train well. Repair: log1p."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

META: dict[str, Any] = dict(
    id="fa_log_of_zero_count",
    source="widely reported: log features of zero counts",
    cause="nan_in_input",
    also=[],
    layer=None,
    onset=(0, 75),
    symptom="loss_nan",
)


class Visits(Dataset[dict[str, Tensor]]):
    def __init__(self, users: int, healthy: bool) -> None:
        counts = torch.poisson(torch.full((users, 4), 8.0))
        counts[1700, 3] = 0  # there is always one such user
        counts[:, 0] = torch.poisson(torch.full((users,), 30.0))
        country = torch.randint(0, 8, (users,))
        taste = torch.linspace(-2, 2, 8)[country] + (counts[:, 1] - counts[:, 2]) / 2
        self.label = (taste + 0.5 * torch.randn(users) > 0).float()
        self.numbers = torch.log1p(counts) - 2 if healthy else torch.log(counts) - 2
        self.country = country

    def __len__(self) -> int:
        return len(self.label)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {"numbers": self.numbers[index], "country": self.country[index], "label": self.label[index]}


class WideAndDeep(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.country = nn.Embedding(8, 4)
        self.deep = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1))
        self.wide = nn.Linear(4, 1)

    def forward(self, numbers: Tensor, country: Tensor) -> Tensor:
        deep = self.deep(torch.cat([numbers, self.country(country)], dim=1))
        return (deep + self.wide(numbers)).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    loader = DataLoader(Visits(2400, healthy), batch_size=32, shuffle=True)
    model = WideAndDeep()
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    losses = []
    with debug(model):
        for _epoch in range(3):
            model.train()
            for batch in loader:
                optimizer.zero_grad()
                loss = criterion(model(batch["numbers"], batch["country"]), batch["label"])
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
