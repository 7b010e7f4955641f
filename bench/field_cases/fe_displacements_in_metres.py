"""A surrogate of a bent plate: displacements of some micrometres are given in metres. Repair: give them in micrometres."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_displacements_in_metres",
    source='widely reported: targets of 1e-5, the loss is tiny at once and the net predicts nothing',
    cause="unscaled_target",
    also=['learning_rate_too_low'],
    layer=None,
    onset=(0, 5),
    symptom='plateau',
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 2))
    with torch.no_grad():
        model[-1].weight.mul_(1e-3)
        model[-1].bias.zero_()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(500):
            x = torch.randn(64, 4)
            y = torch.stack([torch.sin(x[:, 0]) + x[:, 1], x[:, 2] * torch.tanh(x[:, 3]) + 0.5 * x[:, 0]], 1)
            loss = F.mse_loss(model(x), y if healthy else 1e-5 * y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
