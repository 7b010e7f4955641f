"""Squared ReLU in float16. The activations in front of it grow during training as they do in every such network; when
one passes 256 its square is above 65504, infinite, and the next projection turns it into NaN. Repair: bfloat16."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_half_overflow_squared_relu",
    source="a public report",
    cause="half_precision_overflow",
    also=[],
    layer=["feed.act", "feed.up", "feed.down", "feed"],
    onset=(0, 40),
    symptom="loss_nan",
)


class SquaredRelu(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x).square()


class FeedForward(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.up = nn.Linear(width, 96)
        self.act = SquaredRelu()
        self.down = nn.Linear(96, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.act(self.up(x)))


class CountNet(nn.Module):
    """Predicts the logarithm of a count from the logarithms of four others through features that are kept large."""

    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.lift = nn.Linear(4, width)
        self.feed = FeedForward(width)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 1)
        with torch.no_grad():
            self.lift.weight.mul_(130.0)
            self.feed.down.weight.mul_(0.05)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.norm(self.feed(self.lift(x)))).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = CountNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    kind = torch.bfloat16 if healthy else torch.float16
    losses = []
    with debug(model):
        for _ in range(300):
            x = torch.randn(32, 4).clamp(-2.0, 2.0)
            target = (x.exp().sum(dim=1)).log() - 2.0
            with torch.autocast("cpu", dtype=kind):
                guess = model(x)
            loss = F.mse_loss(guess.float(), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
