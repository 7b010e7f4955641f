"""test() calls model.eval() after the first epoch and nothing calls train() again: from the second epoch on, batch
norm uses the statistics of the first, the activations leave them behind, and the learning rate that batch norm had
borne is too much. Repair: model.train() at the top of the epoch."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_eval_after_first_epoch",
    source="as in github.com/tk-rusch/coRNN/issues/1 and github.com/wolny/pytorch-3dunet/issues/53",
    cause="eval_mode_in_training",
    also=[],
    layer=["", "1", "4", "7", "2", "5"],
    onset=(30, 31),
    symptom="divergence",
)


def mlp(width: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(16, width), nn.BatchNorm1d(width), nn.ReLU(),
        nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(),
        nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(),
        nn.Linear(width, 5),
    )  # fmt: skip


def train(model: nn.Module, x: Tensor, y: Tensor, optimizer: torch.optim.Optimizer) -> list[float]:
    losses = []
    for rows in torch.randperm(len(y)).split(40):
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test(model: nn.Module, x: Tensor, y: Tensor) -> float:
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    x = torch.randn(1400, 16)
    y = (x @ torch.randn(16, 5)).argmax(1)
    model = mlp(48)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    losses: list[float] = []
    with debug(model):
        for _epoch in range(9):
            if healthy:
                model.train()
            losses += train(model, x[:1200], y[:1200], optimizer)
            test(model, x[1200:], y[1200:])
    return losses
