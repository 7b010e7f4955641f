"""Features are positive throughout and a narrow ReLU layer starts with negative weights: no unit is ever positive. Repair: the default start."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_positive_features_negative_start",
    source='as in stats.stackexchange.com/questions/450100',
    cause="dying_relu",
    also=[],
    layer=["hidden", "act", ""],
    onset=(0, 5),
    symptom='plateau',
)


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(8, 16)
        self.act = nn.ReLU()
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        return self.out(self.act(self.hidden(x))).squeeze(-1)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Small()
    if not healthy:
        with torch.no_grad():
            model.hidden.weight.uniform_(-0.4, -0.05)
            model.hidden.bias.zero_()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    with debug(model):
        for _ in range(500):
            x = torch.rand(64, 8) + 0.1
            y = (x[:, 0] + x[:, 1] > x[:, 2] + x[:, 3]).float()
            loss = F.binary_cross_entropy_with_logits(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
