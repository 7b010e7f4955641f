"""A deep-and-cross net of twelve crossings, each of which multiplies by the input again: x to the twelfth power. Repair: normalize after each."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_ten_crossings",
    source='widely reported: many cross layers of a deep-and-cross net overflow',
    cause="exploding_depth",
    also=['init_too_large', 'unnormalized_input'],
    layer=["cross", "", "cross.9", "cross.8", "cross.7", "cross.0"],
    onset=(0, 5),
    symptom='divergence',
)


class Cross(nn.Module):
    def __init__(self, healthy):
        super().__init__()
        self.cross = nn.ModuleList(nn.Linear(8, 8) for _ in range(12))
        self.out = nn.Linear(8, 1)
        self.healthy = healthy

    def forward(self, x):
        h = x
        for c in self.cross:
            h = x * c(h) + h
            if self.healthy:
                h = F.layer_norm(h, (8,))
        return self.out(h).squeeze(-1)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Cross(healthy)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _ in range(400):
            x = 2.0 * torch.randn(64, 8)
            y = x[:, 0] * x[:, 1] / 4 + x[:, 2] / 2
            loss = F.mse_loss(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
