"""Capsules' transformation matrices start with a spread of 0.000001, and squashing squares what is small: lengths are nil. Repair: 0.3."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_capsule_votes_too_faint",
    source='as in github.com/ageron/handson-ml/pull/176',
    cause="init_too_small",
    also=[],
    layer=["primary", "", "votes"],
    onset=(0, 0),
    symptom='plateau',
)


class Capsules(nn.Module):
    def __init__(self, spread):
        super().__init__()
        self.primary = nn.Linear(24, 48)
        self.votes = nn.Parameter(spread * torch.randn(12, 4, 4, 6))

    def squash(self, s):
        n2 = (s * s).sum(-1, keepdim=True)
        return n2 / (1 + n2) * s / (n2 + 1e-9).sqrt()

    def forward(self, x):
        u = self.squash(self.primary(x).view(-1, 12, 4))
        v = self.squash(torch.einsum("bid,idkj->bkj", u, self.votes.permute(0, 1, 2, 3)))
        return (v.pow(2).sum(-1) + 1e-9).sqrt()


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    mean = torch.randn(4, 24)
    model = Capsules(0.3 if healthy else 1e-6)
    opt = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(200):
            y = torch.randint(0, 4, (32,))
            length = model(mean[y] + torch.randn(32, 24))
            t = F.one_hot(y, 4).float()
            loss = (t * F.relu(0.9 - length) ** 2 + 0.5 * (1 - t) * F.relu(length - 0.1) ** 2).sum(1).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
