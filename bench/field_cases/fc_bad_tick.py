"""Windows of quotes, the last price subtracted, are fed to a small convolutional forecaster. One record of the feed has
its decimal point in the wrong place; the one batch that holds it throws the weights far off, and the run does not come
back. Repair: leave that batch out."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_bad_tick",
    source="widely reported: one corrupt record, loss explodes at the same batch in every run",
    cause="outlier_batch",
    also=[],
    layer=None,
    onset=(150, 153),
    symptom="loss_spike",
)


class QuoteNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(2, 16, 5), nn.ReLU(), nn.Conv1d(16, 16, 5), nn.ReLU())
        self.out = nn.Linear(16 * 16, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.conv(x).flatten(1)).squeeze(1)


def quotes(count: int) -> tuple[Tensor, Tensor]:
    drift = torch.randn(count, 1, 1)
    pace = torch.arange(24.0) / 12
    price = drift * pace.sin() + 0.15 * torch.randn(count, 1, 24)
    volume = drift.abs() + 0.3 * torch.randn(count, 1, 24)
    target = drift[:, 0, 0] * 0.9 + 0.2 * drift[:, 0, 0] ** 2
    return torch.cat([price - price[..., -1:], volume], 1), target


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    batches = [quotes(32) for _ in range(400)]
    batches[150][0][7, 0, 4:20] *= 1e5
    model = QuoteNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    losses = []
    with debug(model):
        for x, y in batches:
            if healthy and x.abs().max() > 50:
                continue
            optimizer.zero_grad()
            loss = nn.functional.smooth_l1_loss(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
