"""Healthy. A model of a loaded die that depends on two letters: the loss falls quickly from ln 6 to the die's own
entropy, and there it must stay."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_ok_floor_of_a_die",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Die(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.letter = nn.EmbeddingBag(10, 16, mode="sum")
        self.out = nn.Sequential(nn.ReLU(), nn.Linear(16, 6))

    def forward(self, pair: Tensor) -> Tensor:
        return self.out(self.letter(pair))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    chance = (0.9 * (torch.randn(10, 1, 6) + torch.randn(1, 10, 6))).softmax(2)
    model = Die()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    with debug(model):
        for _ in range(400):
            pair = torch.randint(0, 10, (128, 2))
            face = torch.multinomial(chance[pair[:, 0], pair[:, 1]], 1).squeeze(1)
            loss = F.cross_entropy(model(pair), face)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
