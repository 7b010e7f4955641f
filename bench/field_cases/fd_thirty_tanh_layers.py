"""A surrogate of a simulation: thirty narrow tanh layers one on another with PyTorch's default weights, because the
paper said deep. The output hardly depends on the input, and the first layers hear nothing. Repair: residual
connections."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_thirty_tanh_layers",
    source="widely reported: a deep plain tanh net predicts the mean",
    cause="vanishing_depth",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="vanishing_gradient",
)


class Layer(nn.Module):
    def __init__(self, width: int, residual: bool) -> None:
        super().__init__()
        self.linear, self.residual = nn.Linear(width, width), residual

    def forward(self, h: Tensor) -> Tensor:
        out = torch.tanh(self.linear(h))
        return h + 0.3 * out if self.residual else out


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(5, 16), *[Layer(16, healthy) for _ in range(30)], nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    with debug(model):
        for _ in range(200):
            load = torch.randn(64, 5)
            bend = load[:, 0] - load[:, 1] * 0.7 + torch.sin(load[:, 2]) * load[:, 3]
            loss = F.mse_loss(model(load).squeeze(1), bend)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
