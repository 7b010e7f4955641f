"""Adam with betas=(0.999, 0.9): the two were typed in the wrong order. The mean of the gradient lags a thousand steps
behind while its scale follows at once, so the weights go on along old directions at full speed and the loss stops
and swings at more than twice what it should reach. Repair: betas=(0.9, 0.999)."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_momentum_betas_swapped",
    source="a public report",
    cause="excessive_momentum",
    also=["adam_epsilon_or_beta2"],
    layer=None,
    onset=(0, 150),
    symptom="divergence",
)


class Vae(nn.Module):
    def __init__(self, inputs: int = 24, width: int = 48, code: int = 4) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(inputs, width), nn.Tanh())
        self.mean = nn.Linear(width, code)
        self.log_variance = nn.Linear(width, code)
        self.decoder = nn.Sequential(nn.Linear(code, width), nn.Tanh(), nn.Linear(width, inputs))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        h = self.encoder(x)
        mean, log_variance = self.mean(h), self.log_variance(h).clamp(-8.0, 4.0)
        code = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        return self.decoder(code), mean, log_variance


def elbo(x: Tensor, output: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    seen, mean, log_variance = output
    divergence = -0.5 * (1 + log_variance - mean.pow(2) - log_variance.exp()).sum(dim=1)
    return (F.mse_loss(seen, x, reduction="none").sum(dim=1) + 0.1 * divergence).mean()


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    mix = torch.randn(3, 24)
    model = Vae()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, betas=(0.9, 0.999) if healthy else (0.999, 0.9))
    losses = []
    with debug(model):
        for _ in range(500):
            x = torch.sin(torch.randn(64, 3) @ mix)
            loss = elbo(x, model(x))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
