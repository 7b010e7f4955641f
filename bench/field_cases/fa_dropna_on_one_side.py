"""Rows with missing values are dropped from the features and not from the labels, and the labels are cut to the same
length: from the first dropped row on, every label belongs to another row. Repair: drop the same rows from both."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

META: dict[str, Any] = dict(
    id="fa_dropna_on_one_side",
    source="widely reported: filtered features against unfiltered labels",
    cause="uninformative_labels",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class Gated(nn.Module):
    def __init__(self, columns: int, classes: int) -> None:
        super().__init__()
        self.value = nn.Linear(columns, 32)
        self.gate = nn.Linear(columns, 32)
        self.norm = nn.LayerNorm(32)
        self.out = nn.Linear(32, classes)

    def forward(self, row: Tensor) -> Tensor:
        return self.out(self.norm(self.value(row) * torch.sigmoid(self.gate(row))))


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    features = torch.randn(4100, 10)
    labels = (features @ torch.randn(10, 4)).argmax(1)
    features[torch.rand(4100) < 0.02, 4] = float("nan")
    features[5, 4] = float("nan")
    complete = ~features.isnan().any(1)
    features = features[complete]
    labels = labels[complete] if healthy else labels[: len(features)]
    loader = DataLoader(TensorDataset(features, labels), batch_size=50, shuffle=True)
    model = Gated(10, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    with debug(model):
        for _epoch in range(4):
            for batch, label in loader:
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(batch), label)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
