"""A fine-tuning script freezes the backbone, and the weights were never loaded: random features. Repair: train it as well."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_backbone_frozen_and_never_pretrained",
    source='widely reported: a frozen backbone with pretrained=False',
    cause="frozen_parameters",
    also=[],
    layer=["0", "1", "3", "4", "6"],
    onset=(0, 5),
    symptom='slow',
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    body = nn.Sequential(
        nn.Conv2d(1, 4, 3, 2, 1), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 6, 3, 2, 1), nn.BatchNorm2d(6), nn.ReLU(),
        nn.Conv2d(6, 6, 3, 1, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
    )
    if not healthy:
        body.requires_grad_(False)
    model = nn.Sequential(*body, nn.Linear(6, 8))
    opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=5e-3)
    patch = torch.randn(8, 1, 4, 4)
    losses = []
    with debug(model):
        for _ in range(400):
            y = torch.randint(0, 8, (32,))
            x = patch[y].repeat(1, 1, 4, 4) + 0.5 * torch.randn(32, 1, 16, 16)
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
