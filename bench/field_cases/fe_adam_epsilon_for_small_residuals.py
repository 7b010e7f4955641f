"""A set regressor averages over many small errors; Adam's eps is 0.5, set against a NaN of last year. Repair: 1e-8."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_adam_epsilon_for_small_residuals",
    source="widely reported: Adam's eps raised to 1e-1 against instability, gradients are far below it",
    cause="adam_epsilon_or_beta2",
    also=['learning_rate_too_low'],
    layer=None,
    onset=(0, 5),
    symptom='slow',
)


class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(2, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU())
        self.rho = nn.Sequential(nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.rho(self.phi(x).mean(1)).squeeze(-1)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Deep()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3, eps=1e-8 if healthy else 0.5)
    losses = []
    with debug(model):
        for _ in range(400):
            x = torch.randn(64, 10, 2) * (0.5 + torch.rand(64, 1, 1))
            y = 0.5 * (x[..., 0] ** 2).mean(1) - 0.5 * (x[..., 1].abs()).mean(1)
            loss = F.mse_loss(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
