"""A real NVP for a two-dimensional density. After advice to divide the rate by ten when NaN appears, it was divided
four times: 5e-7, and the density hardly moves. Repair: 0.005. Both lists are negative log-likelihoods."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fd_flow_rate_shrunk_twice",
    source="compare github.com/volflow/DeFlow/issues/4",
    cause="learning_rate_too_low",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="slow",
)


class Coupling(nn.Module):
    def __init__(self, first: int) -> None:
        super().__init__()
        self.first = first
        self.net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        kept, moved = x[:, self.first : self.first + 1], x[:, 1 - self.first : 2 - self.first]
        log_scale, shift = self.net(kept).chunk(2, 1)
        log_scale = 2 * torch.tanh(log_scale / 2)
        moved = moved * log_scale.exp() + shift
        both = torch.cat([kept, moved] if self.first == 0 else [moved, kept], 1)
        return both, log_scale.sum(1)


class Flow(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Coupling(i % 2) for i in range(6)])

    def forward(self, x: Tensor) -> Tensor:
        log_determinant = x.new_zeros(len(x))
        for layer in self.layers:
            x, more = layer(x)
            log_determinant = log_determinant + more
        return -0.5 * x.square().sum(1) - 1.8379 + log_determinant


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Flow()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3 if healthy else 5e-7)
    losses = []
    with debug(model):
        for _ in range(300):
            x = torch.randn(96, 1) * 1.5
            data = torch.cat([x, 0.7 * x.square() - 1 + 0.3 * torch.randn(96, 1)], 1)
            loss = -model(data).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            losses.append(loss.item())
    return losses
