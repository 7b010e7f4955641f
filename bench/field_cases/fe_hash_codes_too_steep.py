"""Deep hashing: codes are tanh(beta * x) with beta = 300 from the first step, so that no gradient passes. Repair: beta = 1."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_hash_codes_too_steep",
    source='widely reported: deep hashing with tanh(beta x) and beta large from the start',
    cause="saturating_activation",
    also=['init_too_large'],
    layer=["code", "", "net", "net.2"],
    onset=(0, 5),
    symptom='slow',
)


class Hash(nn.Module):
    def __init__(self, beta):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 12))
        self.code = nn.Tanh()
        self.beta = beta

    def forward(self, x):
        return self.code(self.beta * self.net(x))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    mean = torch.randn(6, 20)
    model = Hash(1.0 if healthy else 300.0)
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(300):
            y = torch.randint(0, 6, (48,))
            code = model(0.8 * mean[y] + torch.randn(48, 20))
            same = (y[:, None] == y).float()
            alike = code @ code.T / 12
            loss = ((alike - (2 * same - 1).clamp(min=0)) ** 2 * (1 + 4 * same)).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
