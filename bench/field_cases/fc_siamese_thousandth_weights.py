"""The branches of a siamese net start with weights of standard deviation 0.001: after three convolutions the two
embeddings are equal to the seventh decimal, and so is every distance. Repair: torch's own start."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fc_siamese_thousandth_weights",
    source="compare github.com/BVLC/caffe/issues/1396: gaussian start, the same output for every input",
    cause="init_too_small",
    also=["vanishing_depth"],
    layer=None,
    onset=(0, 0),
    symptom="vanishing_gradient",
)


class Siamese(nn.Module):
    def __init__(self, tiny: bool) -> None:
        super().__init__()
        self.branch = nn.Sequential(
            nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 12, 3), nn.ReLU(), nn.Conv2d(12, 12, 3), nn.ReLU(),
            nn.Flatten(), nn.Linear(12 * 16, 8),
        )  # fmt: skip
        self.same = nn.Linear(8, 1)
        if tiny:
            for module in self.modules():
                if isinstance(module, (nn.Conv2d, nn.Linear)):
                    nn.init.normal_(module.weight, std=0.001)
                    nn.init.zeros_(module.bias)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return self.same((self.branch(a) - self.branch(b)).abs()).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    face = F.avg_pool2d(torch.randn(6, 1, 10, 10), 3, 1, 1) * 3
    model = Siamese(tiny=not healthy)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(260):
            who = torch.randint(0, 6, (24,))
            other = torch.where(torch.rand(24) < 0.5, who, (who + torch.randint(1, 6, (24,))) % 6)
            a, b = (face[k] + 0.4 * torch.randn(24, 1, 10, 10) for k in (who, other))
            optimizer.zero_grad()
            loss = F.binary_cross_entropy_with_logits(model(a, b), (who == other).float())
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
