"""SGD with momentum 0.999 for a tabular classifier, on the ground that more momentum is faster. Steps add up over a
thousand iterations and the brake comes far too late: the loss falls, swings up beyond where it began, and keeps
swinging. Repair: 0.9 at the same rate."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_momentum_0999_tabular",
    source="a public report",
    cause="excessive_momentum",
    also=[],
    layer=None,
    onset=(0, 120),
    symptom="divergence",
)


class Tabular(nn.Module):
    def __init__(self, width: int = 48) -> None:
        super().__init__()
        self.kind = nn.Embedding(6, 4)
        self.hidden = nn.Sequential(nn.Linear(12, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.out = nn.Linear(width, 3)

    def forward(self, number: Tensor, kind: Tensor) -> Tensor:
        return self.out(self.hidden(torch.cat([number, self.kind(kind)], dim=1)))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    direction = torch.randn(6, 8, 3)
    model = Tabular()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9 if healthy else 0.999)
    losses = []
    with debug(model):
        for _ in range(450):
            number, kind = torch.randn(64, 8), torch.randint(0, 6, (64,))
            score = torch.einsum("nf,nfc->nc", number, direction[kind])
            loss = F.cross_entropy(model(number, kind), score.argmax(dim=1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
