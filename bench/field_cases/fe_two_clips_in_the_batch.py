"""A speaker net regresses age from an embedding with batch norm, two clips a step: each unit is plus or minus one. Repair: 32 clips."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_two_clips_in_the_batch",
    source='widely reported: metric learning with two clips per step and batch norm on the embedding',
    cause="batchnorm_small_batch",
    also=[],
    layer=["norm", ""],
    onset=(0, 5),
    symptom='slow',
)


class Age(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(3, 24, 3)
        self.lin = nn.Linear(24, 32)
        self.norm = nn.BatchNorm1d(32)
        self.out = nn.Linear(32, 1)

    def forward(self, x):
        return self.out(F.relu(self.norm(self.lin(F.relu(self.conv(x)).mean(-1))))).squeeze(1)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Age()
    n = 32 if healthy else 2
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _ in range(500):
            age = torch.randn(n)
            x = torch.randn(n, 3, 20) * torch.tensor([1.0, 1, 1]).view(3, 1) + age[:, None, None] * torch.tensor([0.8, -0.5, 0.3]).view(3, 1)
            loss = F.mse_loss(model(x), age)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
