"""The preprocessing standardizes one row at a time, over the first axis, and a row has one entry there: each value
minus itself. Every input of the table is zero. Repair: statistics over the table."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

META = dict(
    id="fc_row_minus_its_own_mean",
    source="widely reported: statistics over the wrong axis, the model predicts the same value for every input",
    cause="constant_input",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class Table(Dataset):
    def __init__(self, table: Tensor, target: Tensor, whole: bool) -> None:
        self.table, self.target, self.whole = table, target, whole

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        row = self.table[index : index + 1]
        reference = self.table if self.whole else row
        scaled = (row - reference.mean(0)) / (reference.std(0, unbiased=False) + 1e-8)
        return scaled.squeeze(0), self.target[index]


def regressor(columns: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(columns, 40), nn.LayerNorm(40), nn.GELU(), nn.Linear(40, 40), nn.GELU(), nn.Linear(40, 1)
    )


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    table = torch.randn(640, 9) * torch.rand(9) * 4 + 5 * torch.rand(9)
    z = (table - table.mean(0)) / table.std(0)
    target = z[:, 0] - 0.8 * z[:, 1] + z[:, 2] * z[:, 3] * 0.7 + 0.1 * torch.randn(640)
    loader = DataLoader(Table(table, target, healthy), batch_size=20, shuffle=True)
    model = regressor(9)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    losses = []
    with debug(model):
        for _epoch in range(10):
            for row, value in loader:
                optimizer.zero_grad()
                loss = nn.functional.huber_loss(model(row).squeeze(1), value)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
