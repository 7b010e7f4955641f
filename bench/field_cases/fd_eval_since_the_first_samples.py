"""The loop draws samples before the training begins, with model.eval(), and never goes back: batch norm works with
its initial statistics, mean zero and variance one, in features that have a variance of hundreds. Repair:
model.train()."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_eval_since_the_first_samples",
    source="compare github.com/shubhamagarwal92/mmd/issues/14",
    cause="eval_mode_in_training",
    also=[],
    layer=["", "norm1", "norm2"],
    onset=(0, 0),
    symptom="slow",
)


class Generator(nn.Module):
    def __init__(self, width: int = 48) -> None:
        super().__init__()
        self.lift, self.norm1 = nn.Linear(10, width), nn.BatchNorm1d(width)
        self.mix, self.norm2 = nn.Linear(width, width), nn.BatchNorm1d(width)
        self.out = nn.Linear(width, 6)
        nn.init.normal_(self.lift.weight, std=6.0)
        nn.init.normal_(self.mix.weight, std=3.0)

    def forward(self, x: Tensor) -> Tensor:
        h = F.relu(self.norm1(self.lift(x)))
        return self.out(F.relu(self.norm2(self.mix(h))))


def show_samples(model: nn.Module, x: Tensor) -> Tensor:
    model.eval()
    with torch.no_grad():
        return model(x)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    rule = torch.randn(10, 6) / 3
    model = Generator()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        show_samples(model, torch.randn(4, 10))
        if healthy:
            model.train()
        for _ in range(300):
            x = torch.randn(48, 10)
            loss = F.mse_loss(model(x), torch.sin(2 * x @ rule))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
