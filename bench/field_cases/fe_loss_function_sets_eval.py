"""The loss computes blobs with a helper that calls model.eval(), and the training forward comes after it: batch norm never updates. Repair: train()."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_loss_function_sets_eval",
    source='as in github.com/ServiceNow/LCFCN/issues/20',
    cause="eval_mode_in_training",
    also=[],
    layer=["1", "4", ""],
    onset=(0, 0),
    symptom='slow',
)


def blobs(model, x):
    model.eval()
    with torch.no_grad():
        return model(x).argmax(1)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Flatten(), nn.Linear(16 * 36, 6),
    )
    opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    mean = torch.randn(6, 1, 12, 12)
    losses = []
    with debug(model):
        for _ in range(200):
            y = torch.randint(0, 6, (24,))
            x = 0.02 * (0.6 * mean[y] + torch.randn(24, 1, 12, 12))
            model.train()
            guess = blobs(model, x)
            weight = 1 + 0.5 * (guess != y).float()
            if healthy:
                model.train()
            loss = (weight * F.cross_entropy(model(x), y, reduction="none")).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
