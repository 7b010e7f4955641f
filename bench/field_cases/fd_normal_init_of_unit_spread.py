"""`for p in model.parameters(): nn.init.normal_(p)`: all of a set encoder's matrices start with a spread of one, and
the first loss is in the hundreds. Repair: leave PyTorch's own."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_normal_init_of_unit_spread",
    source="widely reported: nn.init.normal_ with its default std of 1 on every parameter",
    cause="init_too_large",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="divergence",
)


class SetEncoder(nn.Module):
    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.each = nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.whole = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 4))

    def forward(self, points: Tensor) -> Tensor:
        return self.whole(self.each(points).amax(1))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = SetEncoder()
    if not healthy:
        for parameter in model.parameters():
            nn.init.normal_(parameter)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    shape = torch.randn(4, 10, 3)
    losses = []
    with debug(model):
        for _ in range(250):
            label = torch.randint(0, 4, (32,))
            points = shape[label] + 0.5 * torch.randn(32, 10, 3)
            loss = F.cross_entropy(model(points), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
