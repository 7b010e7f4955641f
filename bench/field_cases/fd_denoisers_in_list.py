"""A toy of denoising diffusion with a net for each of six steps. The nets are kept in a plain list, which
`model.parameters()` doesn't see: the optimizer holds the time's gain alone. Repair: ModuleList."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_denoisers_in_list",
    source="as in github.com/jmtomczak/intro_dgm/issues/6",
    cause="parameters_not_in_optimizer",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class Chain(nn.Module):
    def __init__(self, steps: int, registered: bool) -> None:
        super().__init__()
        nets = [
            nn.Sequential(nn.Linear(2, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 2))
            for _ in range(steps)
        ]
        self.nets = nn.ModuleList(nets) if registered else nets
        self.gain = nn.Parameter(torch.ones(steps))

    def forward(self, noisy: Tensor, step: int) -> Tensor:
        return self.gain[step] * self.nets[step](noisy)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    kept = torch.linspace(0.95, 0.2, 6)
    model = Chain(6, registered=healthy)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    losses = []
    with debug(model):
        for i in range(480):
            angle = 6.2832 * torch.rand(64)
            clean = torch.stack([angle.cos(), angle.sin()], 1)
            step = i % 6
            noise = torch.randn(64, 2)
            noisy = kept[step].sqrt() * clean + (1 - kept[step]).sqrt() * noise
            loss = F.mse_loss(model(noisy, step), noise)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
