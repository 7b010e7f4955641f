"""A graph net regresses total energies, thousands below zero. Repair: subtract the mean and divide by the spread."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_total_energy_in_ev",
    source='widely reported: total energies of molecules (thousands of eV) as targets of a graph net',
    cause="unscaled_target",
    also=[],
    layer=None,
    onset=(0, 5),
    symptom='slow',
)


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.kind = nn.Embedding(4, 24)
        self.filters = nn.ModuleList(nn.Sequential(nn.Linear(8, 24), nn.Softplus(), nn.Linear(24, 24)) for _ in range(2))
        self.mix = nn.ModuleList(nn.Linear(24, 24) for _ in range(2))
        self.atom = nn.Sequential(nn.Linear(24, 24), nn.Softplus(), nn.Linear(24, 1))

    def forward(self, z, r):
        distance = torch.cdist(r, r).unsqueeze(-1)
        rbf = torch.exp(-((distance - torch.linspace(0, 4, 8)) ** 2))
        h = self.kind(z)
        for f, m in zip(self.filters, self.mix):
            h = h + torch.tanh(m((f(rbf) * h.unsqueeze(1)).mean(2)))
        return self.atom(h).mean(1).squeeze(-1)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    own = torch.tensor([-300.0, -1000.0, -1500.0, -2000.0])
    model = Field()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    losses = []
    with debug(model):
        for _ in range(300):
            z, r = torch.randint(0, 4, (16, 6)), 1.5 * torch.randn(16, 6, 3)
            e = own[z].sum(1) + 300 * torch.exp(-torch.cdist(r, r)).mean((1, 2))
            target = (e + 7200) / 1400 if healthy else e
            loss = F.mse_loss(model(z, r), target)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
