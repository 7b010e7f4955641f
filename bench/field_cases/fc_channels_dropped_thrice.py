"""Dropout2d with a rate of 0.9 follows each of three convolutions: whole channels go, and one path in a thousand stays.
Training hardly beats chance. Repair: 0.05."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_channels_dropped_thrice",
    source="widely reported: the rate to keep given as the rate to drop",
    cause="excessive_dropout",
    also=[],
    layer=["net.2", "net.5", "net.8"],
    onset=(0, 0),
    symptom="loss_plateau",
)


class ScanNet(nn.Module):
    def __init__(self, rate: float) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.Dropout2d(rate),
            nn.Conv2d(12, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Dropout2d(rate),
            nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Dropout2d(rate),
        )  # fmt: skip
        self.classify = nn.Linear(16 * 16, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.classify(self.net(x).flatten(1))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    organ = nn.functional.avg_pool2d(torch.randn(4, 1, 8, 8), 3, 1, 1) * 3
    label = torch.randint(0, 4, (500,))
    scan = organ[label] + 0.6 * torch.randn(500, 1, 8, 8)
    model = ScanNet(0.05 if healthy else 0.9)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        model.train()
        for _epoch in range(8):
            for rows in torch.randperm(500).split(20):
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(scan[rows]), label[rows])
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
