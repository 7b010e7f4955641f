"""A curriculum in two stages. The first stage's data set scales its temperatures to unit size, the second stage's
was written later and gives them in Kelvin times ten. The loss leaps at the change of stages and stays. Repair: the
same scaling in both."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_second_stage_reads_raw",
    source="widely reported: the loss leaps when a second data set is mixed in",
    cause="input_shift",
    also=["unnormalized_input"],
    layer=None,
    onset=(160, 165),
    symptom="loss_spike",
)


class Cell(nn.Module):
    def __init__(self, hidden: int = 20) -> None:
        super().__init__()
        self.mix = nn.Linear(3 + hidden, hidden)
        self.gate = nn.Linear(3 + hidden, hidden)
        self.read = nn.Linear(hidden, 2)
        self.hidden = hidden

    def forward(self, sequence: Tensor) -> Tensor:
        h = sequence.new_zeros(len(sequence), self.hidden)
        for x in sequence.unbind(1):
            both = torch.cat([x, h], 1)
            gate = self.gate(both).sigmoid()
            h = gate * h + (1 - gate) * F.softplus(self.mix(both))
        return self.read(h)


class Stage:
    def __init__(self, scale: float, offset: float, rule: Tensor) -> None:
        self.scale, self.offset, self.rule = scale, offset, rule

    def batch(self) -> tuple[Tensor, Tensor]:
        signal = torch.randn(32, 8, 3)
        target = torch.stack([signal.mean(1) @ self.rule, signal[:, -1, 0]], 1)
        return self.offset + self.scale * signal, target


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    rule = torch.randn(3)
    stages = [Stage(1.0, 0.0, rule), Stage(1.0, 0.0, rule) if healthy else Stage(100.0, 2931.0, rule)]
    model = Cell()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    with debug(model):
        for stage in stages:
            for _ in range(160):
                window, target = stage.batch()
                loss = F.mse_loss(model(window), target)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
