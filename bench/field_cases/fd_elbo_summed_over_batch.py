"""A convolutional VAE whose two terms are summed over the batch and the pixels, with the rate of a mean: SGD at
0.02. It explodes in the first steps. Repair: means."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_elbo_summed_over_batch",
    source="widely reported: a VAE's loss summed over batch and pixels at an unchanged rate",
    cause="loss_scale",
    also=["learning_rate_too_high"],
    layer=None,
    onset=(0, 10),
    symptom="divergence",
)


class ConvVae(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, 8, 4, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 8))
        self.dec = nn.Sequential(
            nn.Linear(4, 8 * 36), nn.Unflatten(1, (8, 6, 6)), nn.ReLU(), nn.ConvTranspose2d(8, 1, 4, 2, 1)
        )

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean, log_variance = self.enc(x).chunk(2, 1)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        return self.dec(z), mean, log_variance


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    basis = F.interpolate(torch.randn(3, 1, 4, 4), size=12, mode="bilinear")
    model = ConvVae()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    reduction = "mean" if healthy else "sum"
    losses = []
    with debug(model):
        for _ in range(250):
            x = torch.einsum("nk,kchw->nchw", torch.randn(32, 3), basis)
            guess, mean, log_variance = model(x)
            divergence = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance)
            weight = 0.01 if healthy else 1.0
            total = divergence.mean() if healthy else divergence.sum()
            loss = F.mse_loss(guess, x, reduction=reduction) + weight * total
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
