"""Linear warmup over 900 steps, counted with the step inside the epoch; an epoch has 120. After the first epoch the
code switches to the schedule per epoch, and the rate leaps from an eighth of the peak to the peak, which this net
without normalization does not bear. Repair: a peak that suits and a warmup that fits."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_warmup_by_inner_step",
    source="as in github.com/salesforce/LAVIS/issues/72",
    cause="learning_rate_jump",
    also=["learning_rate_too_high"],
    layer=None,
    onset=(118, 124),
    symptom="divergence",
)


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.attend = nn.MultiheadAttention(width, 2, batch_first=True)
        self.feed = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attend(x, x, x, need_weights=False)[0]
        return x + self.feed(x)


class Schedule:
    def __init__(self, optimizer: torch.optim.Optimizer, warmup: int, peak: float) -> None:
        self.optimizer, self.warmup, self.peak = optimizer, warmup, peak

    def step(self, epoch: int, inner: int) -> None:
        rate = self.peak * (inner + 1) / self.warmup if epoch == 0 else self.peak * 0.95 ** (epoch - 1)
        for group in self.optimizer.param_groups:
            group["lr"] = rate


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    mean = torch.randn(5, 1, 12)
    model = nn.Sequential(nn.Linear(12, 24), Block(24), Block(24), nn.Flatten(), nn.Linear(24 * 8, 5))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0, momentum=0.9)
    schedule = Schedule(optimizer, 120, 0.02) if healthy else Schedule(optimizer, 900, 0.35)
    losses = []
    with debug(model):
        for epoch in range(3):
            for inner in range(120):
                schedule.step(epoch, inner)
                label = torch.randint(0, 5, (32,))
                x = 0.5 * mean[label] + torch.randn(32, 8, 12)
                loss = F.cross_entropy(model(x), label)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
