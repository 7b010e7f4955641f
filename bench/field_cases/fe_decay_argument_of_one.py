"""Rate / (1 + decay * step) with decay=1.0 (as weight decay was meant) and SGD: after 100 steps a hundredth. Repair: 1e-3."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_decay_argument_of_one",
    source="widely reported: Keras' decay=1 divides the rate by the number of steps",
    cause="learning_rate_collapsed",
    also=['learning_rate_too_low'],
    layer=None,
    onset=(1, 60),
    symptom='slow',
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(6, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
    decay = 1e-3 if healthy else 1.0
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    inverse = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: 1 / (1 + decay * step))
    losses = []
    with debug(model):
        for _ in range(600):
            x = torch.randn(64, 6)
            y = torch.sin(2 * x[:, :1]) * x[:, 1:2] + torch.relu(x[:, 2:3]) - 0.4
            loss = F.mse_loss(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            inverse.step()
            losses.append(loss.item())
    return losses
