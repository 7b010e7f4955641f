"""All biases, batch norm's shifts among them, are filled with -6 as for a rare class: behind the ReLUs everything is zero. Repair: zero."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_norm_shift_of_minus_six",
    source='widely reported: a negative bias in front of a ReLU, all units are zero from the first step',
    cause="dying_relu",
    also=[],
    layer=["1", "2", "4", "5"],
    onset=(0, 5),
    symptom='plateau',
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = nn.Sequential(
        nn.Conv2d(1, 12, 3, 2, 1), nn.BatchNorm2d(12), nn.ReLU(), nn.Conv2d(12, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Flatten(), nn.Linear(256, 5),
    )
    for m in model:
        if isinstance(m, nn.BatchNorm2d):
            nn.init.constant_(m.bias, 0.0 if healthy else -6.0)
    opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    mean = torch.randn(5, 1, 16, 16)
    losses = []
    with debug(model):
        for _ in range(250):
            y = torch.randint(0, 5, (32,))
            loss = F.cross_entropy(model(0.5 * mean[y] + torch.randn(32, 1, 16, 16)), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
