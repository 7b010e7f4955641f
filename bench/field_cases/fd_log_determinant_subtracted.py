"""A masked autoregressive flow in which the log-determinant is taken away from the log-likelihood instead of added:
the loss is driven down by blowing up the density's scale without end. Repair: plus. The list is the true negative
log-likelihood."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fd_log_determinant_subtracted",
    source="widely reported: the sign of the log-determinant in a flow's loss",
    cause="loss_sign",
    also=[],
    layer=None,
    onset=(0, 60),
    symptom="divergence",
)


class Autoregressive(nn.Module):
    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.start = nn.Parameter(torch.zeros(2))
        self.net = nn.Sequential(nn.Linear(1, width), nn.ReLU(), nn.Linear(width, 2))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        shift, log_scale = self.net(x[:, :1]).chunk(2, 1)
        first = x[:, :1] * self.start[1].exp() + self.start[0]
        second = x[:, 1:] * log_scale.exp() + shift
        return torch.cat([first, second], 1), self.start[1] + log_scale.squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    flow = Autoregressive()
    optimizer = torch.optim.Adam(flow.parameters(), lr=5e-3)
    sign = 1.0 if healthy else -1.0
    true_loss = []
    with debug(flow):
        for _ in range(400):
            x = 0.5 * torch.randn(64, 2) + 1
            x[:, 1] = 0.3 * x[:, 1] + x[:, 0].square() - 1
            z, log_determinant = flow(x)
            base = -0.5 * z.square().sum(1) - 1.8379
            loss = -(base + sign * log_determinant).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            true_loss.append(-(base + log_determinant).detach().mean().item())
    return true_loss
