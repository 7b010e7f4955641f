"""Poly decay (1 - it/max_it) ** 0.9 where max_it is the number of epochs, 30, and it counts batches. Repair: the number of batches."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_polynomial_decay_in_epochs",
    source='widely reported: poly decay whose max_iter is the number of epochs',
    cause="learning_rate_collapsed",
    also=[],
    layer=None,
    onset=(20, 32),
    symptom='plateau',
)


class Seg(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU())
        self.dilated = nn.ModuleList(nn.Conv2d(16, 16, 3, padding=d, dilation=d) for d in (1, 2))
        self.out = nn.Conv2d(32, 3, 1)

    def forward(self, x):
        h = self.enc(x)
        h = torch.cat([F.relu(c(h)) for c in self.dilated], 1)
        return F.interpolate(self.out(h), scale_factor=2, mode="bilinear")


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Seg()
    opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
    total = 300 if healthy else 30
    losses = []
    with debug(model):
        for it in range(300):
            for g in opt.param_groups:
                g["lr"] = 0.02 * max(0.0, 1 - it / total) ** 0.9
            field = F.avg_pool2d(torch.randn(8, 1, 16, 16), 7, 1, 3) * 7
            y = (field > 0.5).long() + (field > -0.5).long()
            loss = F.cross_entropy(model(field + 0.2 * torch.randn_like(field)), y[:, 0])
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
