"""Healthy. The gradient norm is ten to a hundred times the limit in every step, so that every step is clipped, as it is
in many recurrent recipes: the limit and the rate are a normalized step together, and the loss falls to the end."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_ok_clipping_every_step",
    source="a public report",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Counter(nn.Module):
    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.gru = nn.GRU(3, width, batch_first=True)
        self.out = nn.Linear(width, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.gru(x)[0]).squeeze(2)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Counter()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=350, power=1.0)
    losses = []
    with debug(model):
        for _ in range(350):
            x = F.one_hot(torch.randint(0, 3, (32, 12)), 3).float()
            level = (x[..., 0] - x[..., 1]).cumsum(dim=1)
            loss = 10 * F.mse_loss(model(x), level)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.05)
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
    return losses
