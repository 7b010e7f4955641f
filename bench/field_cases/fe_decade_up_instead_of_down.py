"""adjust_learning_rate multiplies by 10 ** (epoch // 3) where 0.1 ** was meant. Repair: 0.1. A point-cloud net with Adam."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_decade_up_instead_of_down",
    source='widely reported: adjust_learning_rate with 10 ** (epoch // k) where 0.1 ** was meant',
    cause="learning_rate_jump",
    also=['learning_rate_too_high'],
    layer=None,
    onset=(148, 156),
    symptom='divergence',
)


class Cloud(nn.Module):
    def __init__(self):
        super().__init__()
        self.point = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 64), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, x):
        return self.head(self.point(x).amax(1))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    stretch = torch.tensor([[1.0, 1, 1], [2.2, 1, 0.5], [0.4, 1.8, 1.8], [1, 0.3, 2.5]])
    model = Cloud()
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    losses = []
    with debug(model):
        for epoch in range(6):
            for group in opt.param_groups:
                group["lr"] = 4e-3 * (0.1 if healthy else 10.0) ** (epoch // 3)
                if not healthy and epoch >= 3:
                    group["lr"] *= 10 ** (epoch - 3)
            for _ in range(50):
                y = torch.randint(0, 4, (32,))
                x = F.normalize(torch.randn(32, 24, 3), dim=-1) * stretch[y][:, None] + 0.1 * torch.randn(32, 24, 3)
                loss = F.cross_entropy(model(x), y)
                opt.zero_grad()
                loss.backward()
                opt.step()
                losses.append(loss.item())
    return losses
