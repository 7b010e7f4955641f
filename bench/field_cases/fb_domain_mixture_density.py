"""A mixture density network for an sixteen-dimensional target, with its likelihood as a product of normal densities, a
sum over the components, and a logarithm. The product underflows to zero in float32 for a target far from every
component: log(0). Repair: logsumexp of the log-densities."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fb_domain_mixture_density",
    source="a public report",
    cause="loss_domain",
    also=[],
    layer=None,
    onset=(20, 150),
    symptom="loss_nan",
)


class MixtureDensity(nn.Module):
    def __init__(self, inputs: int = 3, outputs: int = 16, parts: int = 4, width: int = 48) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, width), nn.Tanh())
        self.weight = nn.Linear(width, parts)
        self.mean = nn.Linear(width, parts * outputs)
        self.spread = nn.Linear(width, parts * outputs)
        self.shape = (parts, outputs)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        h = self.body(x)
        log_weight = torch.log_softmax(self.weight(h), dim=1)
        return log_weight, self.mean(h).unflatten(1, self.shape), self.spread(h).unflatten(1, self.shape).exp() + 0.05


def negative_log_likelihood(output: tuple[Tensor, Tensor, Tensor], y: Tensor, stable: bool) -> Tensor:
    log_weight, mean, spread = output
    z = (y[:, None] - mean) / spread
    log_density = -0.5 * z.square() - spread.log() - 0.5 * math.log(2 * math.pi)
    if stable:
        return -torch.logsumexp(log_weight + log_density.sum(dim=2), dim=1).mean()
    return -torch.log((log_weight.exp() * log_density.exp().prod(dim=2)).sum(dim=1)).mean()


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    curve = torch.randn(3, 16)
    model = MixtureDensity()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    with debug(model):
        for _ in range(350):
            x = torch.randn(48, 3)
            side = torch.where(torch.rand(48, 1) < 0.5, 1.0, -1.0)
            y = side * torch.sin(x @ curve) + 0.05 * torch.randn(48, 16) + side
            loss = negative_log_likelihood(model(x), y, stable=healthy)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
