"""A convolutional autoencoder takes over "normal, standard deviation 0.02" from a recipe for wide nets with batch norm.
Its layers are narrow and have no norm: each shrinks the signal by a factor of four to ten, the output is its own
bias, and no gradient reaches the encoder. Repair: by fan-in."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_init_small_dcgan_decoder",
    source="a public report",
    cause="init_too_small",
    also=["vanishing_depth"],
    layer=["encoder", "decoder", *[f"encoder.{i}" for i in (0, 2, 4)], *[f"decoder.{i}" for i in (0, 2, 4)]],
    onset=(0, 0),
    symptom="vanishing_gradient",
)


class Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv1d(1, 8, 4, stride=2, padding=1),
            nn.LeakyReLU(0.2),
            nn.Conv1d(8, 12, 4, stride=2, padding=1),
            nn.LeakyReLU(0.2),
            nn.Conv1d(12, 12, 4, stride=2, padding=1),
        )
        self.decoder = nn.Sequential(
            nn.ConvTranspose1d(12, 12, 4, stride=2, padding=1),
            nn.LeakyReLU(0.2),
            nn.ConvTranspose1d(12, 8, 4, stride=2, padding=1),
            nn.LeakyReLU(0.2),
            nn.ConvTranspose1d(8, 1, 4, stride=2, padding=1),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.decoder(self.encoder(x))


def weights_init(module: nn.Module) -> None:
    if type(module).__name__.startswith("Conv"):
        nn.init.normal_(module.weight, 0.0, 0.02)
        nn.init.zeros_(module.bias)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Autoencoder()
    if not healthy:
        model.apply(weights_init)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(350):
            rate, phase = 0.15 + 0.5 * torch.rand(24, 1, 1), 6.28 * torch.rand(24, 1, 1)
            x = torch.sin(rate * torch.arange(32.0) + phase)
            loss = F.mse_loss(model(x), x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
