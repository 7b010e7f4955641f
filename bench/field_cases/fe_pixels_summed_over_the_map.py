"""A fully convolutional segmenter sums cross entropy over pixels and batch, under a rate for the mean. Repair: the mean. The list is per pixel."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_pixels_summed_over_the_map",
    source='as in github.com/wkentaro/fcn/issues/88',
    cause="loss_scale",
    also=['learning_rate_too_high'],
    layer=None,
    onset=(0, 10),
    symptom='divergence',
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = nn.Sequential(
        nn.Conv2d(1, 12, 5, padding=2), nn.ReLU(), nn.Conv2d(12, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 4, 1)
    )
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(250):
            field = F.avg_pool2d(torch.randn(8, 1, 16, 16), 5, 1, 2) * 5
            y = ((field > 0.8).long() + (field > 0).long() + (field > -0.8).long())[:, 0]
            loss = F.cross_entropy(model(field + 0.2 * torch.randn_like(field)), y, reduction="mean" if healthy else "sum")
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item() / (1 if healthy else y.numel()))
    return losses
