"""Healthy. Full-batch gradient descent at a large rate: the loss goes up as often as down from one step to the next,
successive gradients point against each other, and over fifty steps it falls all the same."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_ok_edge_of_stability",
    source="a public report",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Mlp(nn.Module):
    def __init__(self, width: int = 40) -> None:
        super().__init__()
        self.a = nn.Linear(8, width)
        self.b = nn.Linear(width, width)
        self.c = nn.Linear(width, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.c(torch.tanh(self.b(torch.tanh(self.a(x)))))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    x = torch.randn(160, 8)
    y = F.one_hot((x[:, :4] * x[:, 4:]).argmax(dim=1), 4).float()
    model = Mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    losses = []
    with debug(model):
        for _ in range(500):
            loss = F.mse_loss(model(x), y, reduction="sum") / len(x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
