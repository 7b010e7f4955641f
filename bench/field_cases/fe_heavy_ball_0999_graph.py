"""A graph classifier under SGD with momentum=0.999 where 0.9 was in the paper: the loss swings and never settles. Repair: 0.9."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_heavy_ball_0999_graph",
    source='widely reported: momentum 0.999 with SGD swings',
    cause="excessive_momentum",
    also=[],
    layer=None,
    onset=(5, 100),
    symptom='oscillation',
)


class Graph(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.out = nn.Linear(6, 32), nn.Linear(64, 32), nn.Linear(32, 3)

    def forward(self, x, adj):
        h = F.relu(self.a(x))
        h = F.relu(self.b(torch.cat([h, adj @ h], -1)))
        return self.out(h.mean(1))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Graph()
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9 if healthy else 0.999)
    losses = []
    with debug(model):
        for _ in range(400):
            x = torch.randn(32, 8, 6)
            adj = torch.softmax(2 * torch.randn(32, 8, 8), -1)
            s = (x[..., 0] * (adj @ x[..., :1]).squeeze(-1)).mean(1) * 2 + x[..., 1].mean(1) * 2
            y = (s > 0.3).long() + (s > -0.3).long()
            loss = F.cross_entropy(model(x, adj), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
