"""A copied line calls block1 a second time and block2 never: its parameters sit in the optimizer without a gradient. Repair: call block2."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_same_block_called_twice",
    source='widely reported: a copied line calls the first block where the second was meant',
    cause="unused_parameters",
    also=[],
    layer=["block2", "block2.0", "block2.2"],
    onset=(0, 0),
    symptom=None,
)


class Series(nn.Module):
    def __init__(self, healthy):
        super().__init__()
        self.healthy = healthy
        self.inp = nn.Conv1d(2, 24, 1)
        self.block1 = nn.Sequential(nn.Conv1d(24, 24, 3, padding=1), nn.ReLU(), nn.Conv1d(24, 24, 3, padding=1))
        self.block2 = nn.Sequential(nn.Conv1d(24, 24, 3, padding=1), nn.ReLU(), nn.Conv1d(24, 24, 3, padding=1))
        self.out = nn.Conv1d(24, 1, 1)

    def forward(self, x):
        h = self.inp(x)
        h = h + self.block1(h)
        h = h + (self.block2 if self.healthy else self.block1)(h)
        return self.out(F.relu(h))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Series(healthy)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    losses = []
    with debug(model):
        for _ in range(300):
            x = torch.randn(16, 2, 24)
            y = torch.tanh(x[:, :1].roll(2, -1) * x[:, 1:].roll(-2, -1) + x[:, 1:])
            loss = F.mse_loss(model(x)[..., 4:-4], y[..., 4:-4])
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
