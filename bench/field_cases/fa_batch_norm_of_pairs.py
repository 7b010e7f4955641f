"""Memory allows two samples per batch, and batch norm standardizes each unit over the two: every unit is plus one or
minus one, and what a sample is depends on its neighbour. Repair: a batch of 32."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

META: dict[str, Any] = dict(
    id="fa_batch_norm_of_pairs",
    source="widely reported: batch norm with one or two samples per device",
    cause="batchnorm_small_batch",
    also=[],
    layer=["norm_1", "norm_2"],
    onset=(0, 0),
    symptom="slow",
)


class DoseModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear_1, self.norm_1 = nn.Linear(8, 32), nn.BatchNorm1d(32)
        self.linear_2, self.norm_2 = nn.Linear(32, 32), nn.BatchNorm1d(32)
        self.dose = nn.Linear(32, 1)

    def forward(self, patient: Tensor) -> Tensor:
        hidden = torch.relu(self.norm_1(self.linear_1(patient)))
        return self.dose(torch.relu(self.norm_2(self.linear_2(hidden)))).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    patient = torch.randn(1000, 8)
    dose = patient[:, 0] - patient[:, 1] + torch.relu(patient[:, 2] + patient[:, 3])
    loader = DataLoader(
        TensorDataset(patient, (dose - dose.mean()) / dose.std()),
        batch_size=32 if healthy else 2,
        shuffle=True,
        drop_last=True,
    )
    model = DoseModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses: list[float] = []
    with debug(model):
        model.train()
        while len(losses) < 480:
            for batch, target in loader:
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(model(batch), target)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses[:480]
