"""The squared norm of all weights is added to the loss by hand, with a factor of one half and without a division by
anything. The weights go to zero and the forecast to the mean. Repair: a factor of 1e-5. The returned list is the
loss without the penalty."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_penalty_by_hand",
    source="widely reported: an L2 term added by hand that outweighs the loss",
    cause="excessive_weight_decay",
    also=[],
    layer=None,
    onset=(0, 150),
    symptom="loss_plateau",
)


class Tower(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.film, self.viewer = nn.Embedding(50, 12), nn.Embedding(80, 12)
        self.layers = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 1))
        nn.init.normal_(self.film.weight, std=0.4)
        nn.init.normal_(self.viewer.weight, std=0.4)

    def forward(self, viewer: Tensor, film: Tensor) -> Tensor:
        v, f = self.viewer(viewer), self.film(film)
        return self.layers(torch.cat([v, f], 1)).squeeze(1) + (v * f).sum(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    taste, style = torch.randn(80, 3), torch.randn(50, 3)
    model = Tower()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    factor = 1e-5 if healthy else 0.5
    losses = []
    with debug(model):
        for _ in range(400):
            viewer, film = torch.randint(0, 80, (96,)), torch.randint(0, 50, (96,))
            rating = (taste[viewer] * style[film]).sum(1)
            fit = F.mse_loss(model(viewer, film), rating)
            penalty = sum(p.square().sum() for p in model.parameters())
            optimizer.zero_grad()
            (fit + factor * penalty).backward()
            optimizer.step()
            losses.append(fit.item())
    return losses
