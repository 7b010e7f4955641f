"""RMSprop with eps=1.0 and the rate 1e-3, half of Inception's recipe: gradients are hundredths, and so are the steps. Repair: 1e-8."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_rmsprop_epsilon_of_inception",
    source='widely reported: epsilon=1.0 of the Inception recipe copied',
    cause="adam_epsilon_or_beta2",
    also=['learning_rate_too_low'],
    layer=None,
    onset=(0, 5),
    symptom='slow',
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = nn.Sequential(
        nn.Conv2d(3, 12, 3, 2, 1), nn.BatchNorm2d(12), nn.ReLU(), nn.Conv2d(12, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(64, 6),
    )
    opt = torch.optim.RMSprop(model.parameters(), lr=1e-3, eps=1e-8 if healthy else 1.0)
    mean = 0.5 * F.avg_pool2d(torch.randn(6, 3, 16, 16), 3, 1, 1) * 3
    losses = []
    with debug(model):
        for _ in range(250):
            y = torch.randint(0, 6, (24,))
            loss = F.cross_entropy(model(mean[y] + torch.randn(24, 3, 16, 16)), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
