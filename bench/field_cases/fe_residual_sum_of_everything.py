"""Twenty blocks of the kind h + relu(W h) * 2 without normalization: the signal doubles in each. Repair: branches scaled by 1/20."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_residual_sum_of_everything",
    source='widely reported: a deep residual net without normalization whose branches start at full size',
    cause="exploding_depth",
    also=['init_too_large'],
    layer=["blocks", "", "blocks.0", "blocks.19", "out"],
    onset=(0, 0),
    symptom='divergence',
)


class Block(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.lin = nn.Linear(24, 24)
        nn.init.kaiming_normal_(self.lin.weight)
        self.scale = scale

    def forward(self, h):
        return h + self.scale * F.relu(self.lin(h))


class Net(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.inp = nn.Linear(8, 24)
        self.blocks = nn.Sequential(*(Block(scale) for _ in range(20)))
        self.out = nn.Linear(24, 1)

    def forward(self, x):
        return self.out(self.blocks(self.inp(x))).squeeze(-1)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Net(1 / 20 if healthy else 2.0)
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    w = torch.randn(8)
    losses = []
    with debug(model):
        for _ in range(250):
            x = torch.randn(64, 8)
            loss = F.mse_loss(model(x), torch.sin(x @ w / 4) + 0.5 * x[:, 0].abs())
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
