"""A convolutional autoencoder on small textures with SGD at 1e-5. The pixel loss is averaged over every pixel, so its
gradient is small, and the reconstruction is a grey square after the whole run; the loss falls in the third digit,
steadily. Repair: 0.1."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_lr_low_conv_autoencoder",
    source="a public report",
    cause="learning_rate_too_low",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="slow",
)


class ConvAutoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ELU(), nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ELU()
        )
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(16, 8, 4, stride=2, padding=1),
            nn.ELU(),
            nn.ConvTranspose2d(8, 1, 4, stride=2, padding=1),
        )

    def forward(self, image: Tensor) -> Tensor:
        return self.decoder(self.encoder(image))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = ConvAutoencoder()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1 if healthy else 1e-5, momentum=0.9, nesterov=True)
    losses = []
    with debug(model):
        for _ in range(300):
            phase = 6.28 * torch.rand(16, 1, 1, 1)
            angle = 3.14 * torch.rand(16, 1, 1, 1)
            row, column = torch.arange(16.0).view(1, 1, 16, 1), torch.arange(16.0).view(1, 1, 1, 16)
            image = torch.sin(0.8 * (row * angle.cos() + column * angle.sin()) + phase)
            optimizer.zero_grad()
            loss = F.mse_loss(model(image), image)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
