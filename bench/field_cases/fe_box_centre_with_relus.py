"""A convolutional net regresses the centre of a box with Adam at 0.5 and answers the middle of the picture for all. Repair: 1e-3."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_box_centre_with_relus",
    source='as in stats.stackexchange.com/questions/261704',
    cause="learning_rate_too_high",
    also=['dying_relu'],
    layer=None,
    onset=(0, 20),
    symptom='plateau',
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    net = nn.Sequential(
        nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 24, 3, padding=1), nn.ReLU(),
        nn.Flatten(), nn.Linear(24 * 36, 64), nn.ReLU(), nn.Linear(64, 2),
    )
    opt = torch.optim.Adam(net.parameters(), lr=1e-3 if healthy else 0.5)
    grid = torch.arange(12.0)
    losses = []
    with debug(net):
        for _ in range(250):
            c = torch.rand(32, 2) * 8 + 2
            inside = ((grid - c[:, :1]).abs() < 1.6)[:, None, :] & ((grid - c[:, 1:]).abs() < 1.6)[:, :, None]
            x = inside.float().unsqueeze(1)
            loss = F.mse_loss(net(x), (c - 6) / 2.3)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
