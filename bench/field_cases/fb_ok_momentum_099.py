"""Healthy. Momentum 0.99 with a rate that was divided by ten for it: updates are a hundred times rate times gradient,
the loss swings slowly in the beginning, and the run gets where it should."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_ok_momentum_099",
    source="a public report",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Autoencoder(nn.Module):
    def __init__(self, inputs: int = 24, width: int = 48, code: int = 6) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(inputs, width), nn.GELU(), nn.Linear(width, code))
        self.decoder = nn.Sequential(nn.Linear(code, width), nn.GELU(), nn.Linear(width, inputs))

    def forward(self, x: Tensor) -> Tensor:
        return self.decoder(self.encoder(x))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    mix = torch.randn(4, 24) / 2
    model = Autoencoder()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.99)
    losses = []
    with debug(model):
        for _ in range(450):
            x = torch.sin(torch.randn(64, 4) @ mix)
            loss = F.mse_loss(model(x), x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
