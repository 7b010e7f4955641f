"""Tabular classification with the columns in their own units: income in dollars, year of birth, hours, two small
ratios. The first tanh layer sits at its bounds and tells nobody apart by anything but income. Repair: standardize the
columns."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_raw_census_columns",
    source="widely reported: columns in their own units and a net that answers the same for everyone",
    cause="unnormalized_input",
    also=["saturating_activation"],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


def census(people: int) -> tuple[Tensor, Tensor]:
    hidden = torch.randn(people, 5)
    label = (hidden[:, 1] + hidden[:, 2] * hidden[:, 3] + 0.7 * hidden[:, 4] > 0).long()
    scale = torch.tensor([18000.0, 14.0, 11.0, 0.02, 0.3])
    offset = torch.tensor([52000.0, 1974.0, 38.0, 0.05, 0.5])
    return hidden * scale + offset, label


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    columns, label = census(3000)
    if healthy:
        columns = (columns - columns.mean(0)) / columns.std(0)
    model = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    losses = []
    with debug(model):
        for _epoch in range(8):
            for rows in torch.randperm(len(label)).split(64):
                loss = criterion(model(columns[rows]), label[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
