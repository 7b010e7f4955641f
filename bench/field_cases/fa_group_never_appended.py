"""Parameter groups are put together in three dicts for three learning rates, and the last one, for the convolutional
encoder, is filled and never appended to the list. The encoder gets gradients and stays as it was drawn. Repair: append
it."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_group_never_appended",
    source="as in github.com/zjunlp/HVPNeT/issues/5",
    cause="parameters_not_in_optimizer",
    also=[],
    layer=["encoder", "encoder.0", "encoder.2", "encoder.4"],
    onset=(0, 0),
    symptom="slow",
)


class PairNet(nn.Module):
    """Says by how much the second signal is shifted against the first: useless without trained filters."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv1d(2, 6, 9, padding=4), nn.Tanh(), nn.Conv1d(6, 6, 9, padding=4), nn.Tanh(), nn.Conv1d(6, 6, 1)
        )
        self.gate = nn.Parameter(torch.ones(6))
        self.classifier = nn.Linear(6, 3)

    def forward(self, pair: Tensor) -> Tensor:
        return self.classifier(self.encoder(pair).pow(2).mean(2) * self.gate)


def shifted(count: int) -> tuple[Tensor, Tensor]:
    label = torch.randint(0, 3, (count,))
    first = torch.randn(count, 24)
    second = torch.stack([torch.roll(row, 2 * int(k) - 2) for row, k in zip(first, label)])
    return torch.stack([first, second], 1), label


def groups(model: PairNet, healthy: bool) -> list[dict[str, Any]]:
    result = []
    head: dict[str, Any] = {"lr": 1e-2, "params": list(model.classifier.parameters())}
    result.append(head)
    gate: dict[str, Any] = {"lr": 1e-2, "params": [model.gate], "weight_decay": 0.0}
    result.append(gate)
    encoder: dict[str, Any] = {"lr": 5e-3, "params": []}
    for parameter in model.encoder.parameters():
        encoder["params"].append(parameter)
    if healthy:
        result.append(encoder)
    return result


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    pair, label = shifted(2000)
    model = PairNet()
    optimizer = torch.optim.AdamW(groups(model, healthy), weight_decay=1e-3)
    losses = []
    with debug(model):
        for _step in range(300):
            rows = torch.randint(0, 2000, (40,))
            loss = nn.functional.cross_entropy(model(pair[rows]), label[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
