"""A point net drops features by 0.97, a value that came from a sweep's upper bound. Repair: 0.1."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_point_features_dropped",
    source='widely reported: a rate of 0.98 in a deep set of point features',
    cause="excessive_dropout",
    also=[],
    layer=["drop", ""],
    onset=(0, 5),
    symptom='slow',
)


class Points(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.one, self.two = nn.Linear(3, 48), nn.Linear(48, 48)
        self.drop = nn.Dropout(p)
        self.out = nn.Linear(48, 4)

    def forward(self, x):
        h = F.relu(self.one(x))
        h = self.drop(F.relu(self.two(self.drop(h))).amax(1))
        return self.out(h)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    stretch = torch.tensor([[1.0, 1, 1], [2.2, 1, 0.5], [0.4, 1.8, 1.8], [1, 0.3, 2.5]])
    model = Points(0.1 if healthy else 0.97)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _ in range(300):
            y = torch.randint(0, 4, (32,))
            x = F.normalize(torch.randn(32, 24, 3), dim=-1) * stretch[y][:, None]
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
