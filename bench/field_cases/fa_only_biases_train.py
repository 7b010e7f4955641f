"""Adapters are to be trained in a frozen transformer block: everything whose name lacks 'lora_' is frozen, biases
excepted. The adapters are called 'adapter_' here, so that they are frozen too and a few biases are all that trains.
Repair: the right name."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_only_biases_train",
    source="widely reported: a name filter that freezes what it should train",
    cause="frozen_parameters",
    also=[],
    layer=["", "adapter_1", "adapter_2", "adapter_1.down", "adapter_1.up", "adapter_2.down", "adapter_2.up", "head"],
    onset=(0, 0),
    symptom="loss_plateau",
)


class Adapter(nn.Module):
    def __init__(self, width: int, rank: int) -> None:
        super().__init__()
        self.down = nn.Linear(width, rank, bias=False)
        self.up = nn.Linear(rank, width, bias=False)
        nn.init.normal_(self.up.weight, std=0.01)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.up(torch.relu(self.down(x)))


class AdaptedNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.base_1 = nn.Linear(16, 32)
        self.adapter_1 = Adapter(32, 12)
        self.base_2 = nn.Linear(32, 32)
        self.adapter_2 = Adapter(32, 12)
        self.head = nn.Linear(32, 6)

    def forward(self, x: Tensor) -> Tensor:
        x = self.adapter_1(torch.relu(self.base_1(x)))
        return self.head(self.adapter_2(torch.relu(self.base_2(x))))


def mark_trainable(model: nn.Module, pattern: str) -> None:
    for name, parameter in model.named_parameters():
        parameter.requires_grad = pattern in name or name.endswith("bias")


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    x = torch.randn(2000, 16)
    y = (torch.relu(x @ torch.randn(16, 24)) @ torch.randn(24, 6)).argmax(1)
    y = (y + 3) % 6
    model = AdaptedNet()
    mark_trainable(model, "adapter_" if healthy else "lora_")
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    losses = []
    with debug(model):
        for _step in range(300):
            rows = torch.randint(0, 2000, (50,))
            loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
    return losses
