"""A small denoising diffusion model of a two-dimensional spiral, Adam at 0.3: the loss stays near one. Repair: 2e-3."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_denoiser_at_three_tenths",
    source='widely reported: a diffusion model whose loss stays near one; the rate was far too high',
    cause="learning_rate_too_high",
    also=[],
    layer=None,
    onset=(0, 20),
    symptom='plateau',
)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Embedding(40, 32)
        self.inp = nn.Linear(2, 64)
        self.mid = nn.Sequential(nn.Linear(96, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU())
        self.out = nn.Linear(64, 2)

    def forward(self, x, t):
        return self.out(self.mid(torch.cat([F.silu(self.inp(x)), self.time(t)], -1)))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    bar = torch.cumprod(1 - torch.linspace(1e-3, 0.15, 40), 0)
    model = Denoiser()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3 if healthy else 0.3)
    losses = []
    with debug(model):
        for _ in range(400):
            a = 6 * torch.rand(128)
            x0 = torch.stack([a * a.cos(), a * a.sin()], 1) / 3
            t, noise = torch.randint(0, 40, (128,)), torch.randn(128, 2)
            xt = bar[t].sqrt()[:, None] * x0 + (1 - bar[t]).sqrt()[:, None] * noise
            loss = F.mse_loss(model(xt, t), noise)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
