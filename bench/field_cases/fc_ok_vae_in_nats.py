"""Healthy. A variational autoencoder's loss is in nats, summed over the pixels and averaged over the images, as in the
paper: it starts above a hundred, and ends at the entropy of the noise."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fc_ok_vae_in_nats",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Vae(nn.Module):
    def __init__(self, pixels: int, latent: int = 4) -> None:
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(pixels, 64), nn.ReLU(), nn.Linear(64, 2 * latent))
        self.decode = nn.Sequential(nn.Linear(latent, 64), nn.ReLU(), nn.Linear(64, pixels))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean, log_variance = self.encode(x).chunk(2, 1)
        z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        return self.decode(z), mean, log_variance


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    figure = (F.interpolate(torch.randn(10, 1, 4, 4), size=14, mode="bicubic") > 0).float().flatten(1)
    model = Vae(196)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    losses = []
    with debug(model):
        for _ in range(300):
            x = figure[torch.randint(0, 10, (32,))]
            x = torch.where(torch.rand_like(x) < 0.03, 1 - x, x)
            logits, mean, log_variance = model(x)
            likelihood = F.binary_cross_entropy_with_logits(logits, x, reduction="sum") / len(x)
            divergence = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum() / len(x)
            loss = likelihood + divergence
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
