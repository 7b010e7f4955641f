"""Healthy. An LSTM of gates written out as modules learns to hold a bit that is set at a marked step: the forget gate
goes to one and the input gate to zero on most steps. The gates are saturated because that is the solution."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_ok_lstm_latch",
    source="a public report",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Latch(nn.Module):
    def __init__(self, width: int = 12) -> None:
        super().__init__()
        self.gates = nn.Linear(2 + width, 3 * width)
        self.value = nn.Linear(2 + width, width)
        self.sigmoid = nn.Sigmoid()
        self.tanh = nn.Tanh()
        self.out = nn.Linear(width, 1)
        self.width = width
        with torch.no_grad():
            self.gates.bias[:width] += 2.0

    def forward(self, x: Tensor) -> Tensor:
        h = c = torch.zeros(x.size(0), self.width)
        for step in x.unbind(dim=1):
            both = torch.cat([step, h], dim=1)
            forget, enter, show = self.sigmoid(self.gates(both)).chunk(3, dim=1)
            c = forget * c + enter * self.tanh(self.value(both))
            h = show * self.tanh(c)
        return self.out(h).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Latch()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    losses = []
    with debug(model):
        for _ in range(220):
            bit = torch.randint(0, 2, (32, 14)).float() * 2 - 1
            when = torch.randint(0, 10, (32,))
            mark = F.one_hot(when, 14).float()
            target = (bit[torch.arange(32), when] > 0).float()
            loss = F.binary_cross_entropy_with_logits(model(torch.stack([bit, mark], dim=2)), target)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
    return losses
