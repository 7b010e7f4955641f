"""Healthy. Dropout of 0.7 in a wide network: the training loss is noisy and stays above the validation loss, and both
fall."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_ok_high_dropout_wide",
    source="a public report",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Wide(nn.Module):
    def __init__(self, width: int = 256) -> None:
        super().__init__()
        self.first = nn.Linear(16, width)
        self.drop = nn.Dropout(0.7)
        self.second = nn.Linear(width, 6)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.drop(F.relu(self.first(x))))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    centre = 0.9 * torch.randn(6, 16)

    def draw(count: int) -> tuple[Tensor, Tensor]:
        label = torch.randint(0, 6, (count,))
        return centre[label] + 0.7 * torch.randn(count, 16), label

    held_out = draw(200)
    model = Wide()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    losses = []
    with debug(model):
        for _ in range(6):
            model.train()
            for _ in range(50):
                x, label = draw(32)
                loss = F.cross_entropy(model(x), label)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            model.eval()
            with torch.no_grad():
                F.cross_entropy(model(held_out[0]), held_out[1])
    return losses
