"""zero_grad stands in the branch of the scheduler, and there is no scheduler. Repair: out of the branch. A GRU forecaster."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_clears_only_with_a_schedule",
    source="widely reported: zero_grad inside a branch that isn't taken",
    cause="missing_zero_grad",
    also=[],
    layer=None,
    onset=(0, 60),
    symptom='divergence',
)


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(1, 32, batch_first=True)
        self.out = nn.Linear(32, 1)

    def forward(self, x):
        return self.out(self.gru(x)[0][:, -1])


def step(optimizer, scheduler, healthy):
    optimizer.step()
    if scheduler is not None or healthy:
        if scheduler is not None:
            scheduler.step()
        optimizer.zero_grad()


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Forecast()
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    t = torch.arange(17) * 0.4
    losses = []
    with debug(model):
        for _ in range(300):
            wave = torch.sin(t + 6.28 * torch.rand(32, 1)) * (0.5 + torch.rand(32, 1))
            loss = F.mse_loss(model(wave[:, :16, None]), wave[:, 16:])
            loss.backward()
            step(opt, None, healthy)
            losses.append(loss.item())
    return losses
