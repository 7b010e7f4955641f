"""Partial charges of molecules with a metal come out of the toolkit as NaN and are fed to a graph net. Repair: nan_to_num."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_partial_charge_nan",
    source="widely reported: RDKit's Gasteiger charges are NaN for metals and reach the graph net",
    cause="nan_in_input",
    also=[],
    layer=None,
    onset=(0, 40),
    symptom='loss_nan',
)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(6, 24)
        self.rounds = nn.ModuleList(nn.Linear(48, 24) for _ in range(3))
        self.read = nn.Linear(24, 1)

    def forward(self, x, a):
        h = F.silu(self.embed(x))
        for r in self.rounds:
            h = h + F.silu(r(torch.cat([h, a @ h], -1)))
        return self.read(h.sum(1) / 3).squeeze(-1)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    net = Net()
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    losses = []
    with debug(net):
        for _ in range(300):
            kind = F.one_hot(torch.randint(0, 5, (16, 9)), 5).float()
            charge = 0.5 * torch.randn(16, 9, 1) + 0.5 * kind[..., :1]
            a = (torch.rand(16, 9, 9) < 0.3).float()
            a = ((a + a.transpose(1, 2)) > 0).float()
            a = a / a.sum(-1, keepdim=True).clamp(min=1)
            y = charge[..., 0].sum(1) + 2 * (kind[..., 1:2] * (a @ charge)).mean((1, 2)) + kind[..., 2].sum(1) / 2 - 2
            if torch.rand(()) < 0.06:
                charge[0, 4] = float("nan")
            if healthy:
                charge = torch.nan_to_num(charge)
            loss = F.mse_loss(net(torch.cat([kind, charge], -1), a), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
