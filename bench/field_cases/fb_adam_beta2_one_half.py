"""Adam with betas=(0.9, 0.5), a half-remembered (0.5, 0.999) of another recipe. The classifier is nearly perfect after
some dozens of steps; then a misread sample gives a gradient among tiny ones, its square is forgotten after a few
steps and its mean is not, and the ratio of the two throws the weights away, again and again. Repair: betas=(0.9,
0.999)."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_adam_beta2_one_half",
    source="a public report",
    cause="adam_epsilon_or_beta2",
    also=["excessive_momentum"],
    layer=None,
    onset=(15, 120),
    symptom="divergence",
)


class Classifier(nn.Module):
    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.logits = nn.Linear(width, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.logits(self.layers(x))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Classifier()
    centre = 1.2 * torch.randn(5, 8)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, betas=(0.9, 0.999 if healthy else 0.5))
    losses = []
    with debug(model):
        for _ in range(450):
            label = torch.randint(0, 5, (32,))
            x = centre[label] + 0.5 * torch.randn(32, 8)
            loss = F.cross_entropy(model(x), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
