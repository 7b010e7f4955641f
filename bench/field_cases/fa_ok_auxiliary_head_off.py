"""Healthy. An auxiliary head helps through the first third of the run and is switched off then: its parameters stay in
the optimizer, get no gradient any more and keep still, on purpose."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_ok_auxiliary_head_off",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="none",
)


class Outputs(NamedTuple):
    logits: Tensor
    auxiliary: Tensor | None


class Inception(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(12, 40), nn.ReLU())
        self.middle = nn.Sequential(nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU())
        self.head = nn.Linear(40, 5)
        self.auxiliary = nn.Linear(40, 5)

    def forward(self, x: Tensor, with_auxiliary: bool) -> Outputs:
        stem = self.stem(x)
        return Outputs(self.head(self.middle(stem)), self.auxiliary(stem) if with_auxiliary else None)


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    x = torch.randn(2000, 12)
    y = (torch.tanh(x @ torch.randn(12, 10)) @ torch.randn(10, 5)).argmax(1)
    model = Inception()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    losses = []
    with debug(model):
        for step, rows in enumerate(torch.randint(0, 2000, (330, 50))):
            outputs = model(x[rows], with_auxiliary=step < 110)
            main = nn.functional.cross_entropy(outputs.logits, y[rows])
            loss = main
            if outputs.auxiliary is not None:
                loss = main + 0.3 * nn.functional.cross_entropy(outputs.auxiliary, y[rows])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            losses.append(main.item())
    return losses
