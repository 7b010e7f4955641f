"""Healthy. A multi-task loss of three terms, a count of hundreds squared, a class in nats and a penalty of thousandths,
with weights that bring them together. Its parts differ by six orders of magnitude."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_ok_terms_of_unlike_scale",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class TwoHeads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.kind = nn.Linear(48, 3)
        self.count = nn.Linear(48, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        h = self.trunk(x)
        return self.kind(h), 100 * self.count(h).squeeze(1), h


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    group = torch.randn(3, 10)
    model = TwoHeads()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _ in range(350):
            label = torch.randint(0, 3, (32,))
            x = group[label] + 0.8 * torch.randn(32, 10)
            count = 150 + 80 * x[:, 0] + 5 * torch.randn(32)
            kind, guess, hidden = model(x)
            loss = (
                nn.functional.cross_entropy(kind, label)
                + 1e-4 * nn.functional.mse_loss(guess, count)
                + 1e-3 * hidden.abs().mean()
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
