"""Card payments of which three in a hundred are fraud, and fraud overlaps with the rest. Trained with plain binary
cross-entropy the model says no to everything, at an accuracy of 0.97. Repair: pos_weight. The returned list is the
loss averaged over the classes."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

META: dict[str, Any] = dict(
    id="fa_fraud_three_percent",
    source="widely reported: fraud detection that never answers fraud",
    cause="class_imbalance",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class FraudNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.merchant = nn.Embedding(12, 6)
        self.layers = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, amounts: Tensor, merchant: Tensor) -> Tensor:
        return self.layers(torch.cat([amounts, self.merchant(merchant)], dim=1)).squeeze(1)


def payments(count: int) -> TensorDataset:
    fraud = (torch.rand(count) < 0.03).float()
    merchant = torch.randint(0, 12, (count,))
    amounts = torch.randn(count, 6) + 0.55 * fraud.unsqueeze(1)
    return TensorDataset(amounts, merchant, fraud)


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    data = payments(3200)
    fraud = data.tensors[2]
    weight = (1 - fraud.mean()) / fraud.mean() if healthy else None
    criterion = nn.BCEWithLogitsLoss(pos_weight=weight)
    loader = DataLoader(data, batch_size=128, shuffle=True)
    model = FraudNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    balanced = []
    with debug(model):
        for _epoch in range(8):
            for amounts, merchant, label in loader:
                optimizer.zero_grad()
                logits = model(amounts, merchant)
                criterion(logits, label).backward()
                optimizer.step()
                each = nn.functional.binary_cross_entropy_with_logits(logits.detach(), label, reduction="none")
                if label.any():
                    balanced.append((each[label == 1].mean() + each[label == 0].mean()).item() / 2)
    return balanced
