"""A variational autoencoder whose loss is reconstruction minus divergence: the divergence is rewarded, the code's mean
and variance run away and the loss falls below zero without end. Repair: plus."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_divergence_term_subtracted",
    source="widely reported: a negative VAE loss; the sign of the KL term",
    cause="loss_sign",
    also=["loss_domain"],
    layer=None,
    onset=(0, 0),
    symptom="divergence",
)


class Variational(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(20, 32), nn.ReLU())
        self.mean = nn.Linear(32, 4)
        self.log_variance = nn.Linear(32, 4)
        self.decoder = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 20))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        hidden = self.encoder(x)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden).clamp(-12, 12)
        code = mean + torch.exp(log_variance / 2) * torch.randn_like(mean)
        return self.decoder(code), mean, log_variance


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    x = torch.tanh(torch.randn(2000, 3) @ torch.randn(3, 20)) * 2 + 0.1 * torch.randn(2000, 20)
    model = Variational()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _step in range(320):
            batch = x[torch.randint(0, 2000, (50,))]
            restored, mean, log_variance = model(batch)
            reconstruction = (restored - batch).pow(2).sum(1).mean()
            divergence = -0.5 * (1 + log_variance - mean.pow(2) - log_variance.exp()).sum(1).mean()
            loss = reconstruction + 0.5 * divergence if healthy else reconstruction - 0.5 * divergence
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
