"""A WaveNet of sixteen gated dilated layers whose residual addition was lost: tanh times sigmoid halves the signal each time. Repair: add it."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_gated_convolutions_without_shortcut",
    source='widely reported: a WaveNet clone whose residual line was lost',
    cause="vanishing_depth",
    also=['init_too_small'],
    layer=["layers", "", "inp"],
    onset=(0, 5),
    symptom='plateau',
)


class Gated(nn.Module):
    def __init__(self, d, dilation):
        super().__init__()
        self.filter = nn.Conv1d(d, d, 2, dilation=dilation)
        self.gate = nn.Conv1d(d, d, 2, dilation=dilation)
        self.pad = dilation

    def forward(self, x):
        p = F.pad(x, (self.pad, 0))
        return torch.tanh(self.filter(p)) * torch.sigmoid(self.gate(p))


class Wave(nn.Module):
    def __init__(self, healthy):
        super().__init__()
        self.inp = nn.Conv1d(1, 16, 1)
        self.layers = nn.ModuleList(Gated(16, 2 ** (k % 4)) for k in range(16))
        self.out = nn.Conv1d(16, 1, 1)
        self.healthy = healthy

    def forward(self, x):
        h = self.inp(x)
        for layer in self.layers:
            h = h + layer(h) if self.healthy else layer(h)
        return self.out(h)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Wave(healthy)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    t = torch.arange(33) * 0.5
    losses = []
    with debug(model):
        for _ in range(150):
            w = torch.sin((0.5 + torch.rand(8, 1)) * t + 6.28 * torch.rand(8, 1)).unsqueeze(1)
            loss = F.mse_loss(model(w[..., :-1])[..., 8:], w[..., 9:])
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
