"""Binary cross-entropy by hand on the output of a sigmoid. The classes are easy, the model becomes sure, and for one
sample the float32 sigmoid is exactly one: 0 * log(0) is NaN. Repair: clamp the probability before the logarithm."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fb_domain_handmade_bce",
    source="a public report",
    cause="loss_domain",
    also=[],
    layer=None,
    onset=(5, 60),
    symptom="loss_nan",
)


class Detector(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, 8, 7, padding=3), nn.ReLU(), nn.Conv1d(8, 16, 7, padding=3), nn.ReLU()
        )
        self.score = nn.Linear(16, 1)
        self.probability = nn.Sigmoid()

    def forward(self, x: Tensor) -> Tensor:
        return self.probability(self.score(self.features(x).amax(dim=2))).squeeze(1)


def bce(p: Tensor, y: Tensor, floor: float) -> Tensor:
    p = p.clamp(floor, 1 - floor) if floor else p
    return -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Detector()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _ in range(350):
            y = (torch.rand(32) < 0.5).float()
            x = 0.3 * torch.randn(32, 1, 40)
            where = torch.randint(0, 34, (32,))
            loud = torch.randn(32).exp()
            for i in range(32):
                x[i, 0, where[i] : where[i] + 6] += y[i] * 2 * (1 + loud[i])
            loss = bce(model(x), y, floor=1e-6 if healthy else 0.0)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
