"""Healthy. A curriculum: sums of two symbols modulo six at first, then of three, then of four. The loss goes up at each
change, by design, and comes down again."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_ok_curriculum_of_lengths",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class SumReader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(6, 12)
        self.gru = nn.GRU(12, 24, batch_first=True)
        self.out = nn.Linear(24, 6)

    def forward(self, ids: Tensor) -> Tensor:
        return self.out(self.gru(self.embed(ids))[1][-1])


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = SumReader()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    with debug(model):
        for length, steps in ((2, 180), (3, 180), (4, 180)):
            for _ in range(steps):
                ids = torch.randint(0, 6, (48, length))
                label = ids.sum(1) % 6
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(ids), label)
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                losses.append(loss.item())
    return losses
