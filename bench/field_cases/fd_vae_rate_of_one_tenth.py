"""A variational autoencoder whose rate was set to the one that SGD had before: Adam at 0.1. The reconstruction never
gets better than the mean picture. Repair: 0.002."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_vae_rate_of_one_tenth",
    source="widely reported: Adam with the rate of SGD, an autoencoder that returns the mean image",
    cause="learning_rate_too_high",
    also=[],
    layer=None,
    onset=(0, 20),
    symptom="loss_plateau",
)


class Vae(nn.Module):
    def __init__(self, latent: int = 6) -> None:
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 48), nn.ReLU())
        self.mean, self.log_variance = nn.Linear(48, latent), nn.Linear(48, latent)
        self.decode = nn.Sequential(nn.Linear(latent, 48), nn.ReLU(), nn.Linear(48, 96), nn.ReLU(), nn.Linear(96, 64))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        h = self.encode(x)
        mean, log_variance = self.mean(h), self.log_variance(h)
        z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        return self.decode(z), mean, log_variance


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    basis = torch.randn(5, 64)
    model = Vae()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3 if healthy else 1e-1)
    losses = []
    with debug(model):
        for _ in range(500):
            x = torch.tanh(torch.randn(48, 5) @ basis)
            guess, mean, log_variance = model(x)
            divergence = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).mean()
            loss = F.mse_loss(guess, x) + 0.01 * divergence
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
