"""A denoising autoencoder for patches in [0, 1]. One file has another bit depth and its patches enter the stream as 0
to 65535: a single finite batch whose step destroys the code. Repair: divide that file by its own maximum."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_one_undecoded_patch",
    source="widely reported: one 16-bit file among 8-bit files",
    cause="outlier_batch",
    also=[],
    layer=None,
    onset=(130, 130),
    symptom="loss_spike",
)


class Denoiser(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 12, 3, 2, 1), nn.ReLU())
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(12, 8, 2, 2),
            nn.ReLU(),
            nn.ConvTranspose2d(8, 8, 2, 2),
            nn.ReLU(),
            nn.Conv2d(8, 1, 3, 1, 1),
        )

    def forward(self, noisy: Tensor) -> Tensor:
        return self.decoder(self.encoder(noisy))


def patches(batches: int, healthy: bool) -> Iterator[Tensor]:
    grid = torch.arange(12.0) / 12
    for batch in range(batches):
        frequency = 2 + 6 * torch.rand(16, 1, 1, 1)
        phase = 6.28 * torch.rand(16, 1, 1, 1)
        patch = 0.5 + 0.4 * torch.sin(frequency * (grid.view(1, 1, 12, 1) + grid.view(1, 1, 1, 12)) + phase)
        yield patch * 65535 if batch == 130 and not healthy else patch


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    model = Denoiser()
    losses = []
    with debug(model):
        optimizer = torch.optim.Adagrad(model.parameters(), lr=0.03)
        for clean in patches(300, healthy):
            optimizer.zero_grad()
            restored = model(clean + 0.1 * torch.randn_like(clean))
            loss = (restored - clean).pow(2).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
