"""A listener for rare sounds hears an event in four windows of a hundred, and events are faint. With the plain loss
it answers "nothing" for every window. Repair: a sampler that draws both kinds alike. The list is the loss averaged
over the two kinds."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_night_without_events",
    source="widely reported: event detection that only ever says background",
    cause="class_imbalance",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class Listener(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.filters = nn.Conv1d(3, 12, 5, padding=2)
        self.out = nn.Sequential(nn.Linear(12, 16), nn.GELU(), nn.Linear(16, 2))

    def forward(self, x: Tensor) -> Tensor:
        return self.out(F.gelu(self.filters(x)).mean(2))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    event = (torch.rand(3000) < 0.04).long()
    tone = torch.randn(3, 1)
    x = torch.randn(3000, 3, 16) + 0.22 * event.view(-1, 1, 1) * tone
    chance = torch.ones(3000)
    if healthy:
        chance[event == 1] = (event == 0).sum() / (event == 1).sum()
    model = Listener()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    balanced = []
    with debug(model):
        for _ in range(260):
            rows = torch.multinomial(chance, 64)
            logits = model(x[rows])
            loss = F.cross_entropy(logits, event[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            each = F.cross_entropy(logits.detach(), event[rows], reduction="none")
            if event[rows].any():
                balanced.append((each[event[rows] == 1].mean() + each[event[rows] == 0].mean()).item() / 2)
    return balanced
