"""A tanh RNN should remember which of four symbols came first, over sixty steps of noise. Each step passes on a bit
less than the whole gradient, so the first symbol gets none of it and the loss stays at chance. Repair: read the
states of the first steps instead of the last one."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_vanishing_long_rnn",
    source="a public report",
    cause="vanishing_depth",
    also=[],
    layer=["rnn", ""],
    onset=(0, 0),
    symptom="vanishing_gradient",
)


class Memory(nn.Module):
    def __init__(self, pool: bool, width: int = 32) -> None:
        super().__init__()
        self.rnn = nn.RNN(6, width, batch_first=True)
        self.out = nn.Linear(width, 4)
        self.pool = pool

    def forward(self, x: Tensor) -> Tensor:
        states, _ = self.rnn(x)
        return self.out(states[:, :5].sum(dim=1) if self.pool else states[:, -1])


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Memory(pool=healthy)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    with debug(model):
        for _ in range(300):
            label = torch.randint(0, 4, (16,))
            x = 0.1 * torch.randn(16, 60, 6)
            x[:, 0, :4] += F.one_hot(label, 4).float()
            loss = F.cross_entropy(model(x), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
