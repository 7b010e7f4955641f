"""A multi-label model returns sigmoid probabilities and is trained with BCEWithLogitsLoss, which takes the sigmoid
once more: no label can be given a probability below one half. Repair: return the logits."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

META: dict[str, Any] = dict(
    id="fa_sigmoid_under_logits_loss",
    source="as in github.com/cvg/glue-factory/issues/89 and github.com/yudi-mars/daisyRec/pull/15",
    cause="redundant_softmax",
    also=["wrong_output_activation"],
    layer=["head", "head.2", "head.1", ""],
    onset=(0, 0),
    symptom="loss_plateau",
)


class MultiLabel(nn.Module):
    def __init__(self, labels: int, healthy: bool) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(24, 64), nn.BatchNorm1d(64), nn.SiLU())
        head: list[nn.Module] = [nn.Dropout(0.1), nn.Linear(64, labels)]
        if not healthy:
            head.append(nn.Sigmoid())
        self.head = nn.Sequential(*head)

    def forward(self, picture: Tensor) -> Tensor:
        return self.head(self.trunk(picture))


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    topics = torch.randn(9, 24)
    labels = (torch.rand(1500, 9) < 0.12).float()
    loader = DataLoader(
        TensorDataset(labels @ topics + 0.6 * torch.randn(1500, 24), labels), batch_size=50, shuffle=True
    )
    model = MultiLabel(9, healthy)
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    losses = []
    with debug(model):
        model.train()
        for _epoch in range(8):
            for picture, label in loader:
                optimizer.zero_grad()
                loss = criterion(model(picture), label)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
