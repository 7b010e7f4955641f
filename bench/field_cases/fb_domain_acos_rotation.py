"""The angle between a predicted and a true direction as the loss, acos of their dot product. As the fit gets good a dot
product is one to the last digit, where the derivative of acos is infinite: the loss is finite and the gradient is
not. Repair: clamp the cosine to 1 - 1e-6."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_domain_acos_rotation",
    source="a public report",
    cause="loss_domain",
    also=[],
    layer=None,
    onset=(40, 290),
    symptom="loss_nan",
)


class Heading(nn.Module):
    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, width), nn.Softplus(), nn.Linear(width, width), nn.Softplus())
        self.direction = nn.Linear(width, 3)

    def forward(self, x: Tensor) -> Tensor:
        return F.normalize(self.direction(self.net(x)), dim=1)


def angle(a: Tensor, b: Tensor, limit: float) -> Tensor:
    cosine = (a * b).sum(dim=1)
    return torch.acos(cosine.clamp(-limit, limit)).mean()


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    camera = torch.randn(6, 3)
    model = Heading()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _ in range(300):
            x = torch.randn(256, 6)
            target = F.normalize(x @ camera, dim=1)
            loss = angle(model(x), target, limit=1 - 1e-6 if healthy else 1.0)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
