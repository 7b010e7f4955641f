"""Depth is computed as 1/disparity and is infinite where the stereo matcher found nothing. Repair: the loss leaves those pixels out."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_depth_holes_are_inf",
    source='widely reported: depth maps with holes, 1/disparity is infinite there',
    cause="invalid_target",
    also=['loss_domain'],
    layer=None,
    onset=(0, 60),
    symptom='loss_nan',
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    net = nn.Sequential(
        nn.Conv2d(2, 16, 3, padding=1), nn.GELU(), nn.Conv2d(16, 16, 3, padding=1), nn.GELU(), nn.Conv2d(16, 1, 1)
    )
    opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
    losses = []
    with debug(net):
        for _ in range(250):
            disparity = (0.6 + 0.5 * F.avg_pool2d(torch.randn(8, 1, 12, 12), 3, 1, 1)).clamp(min=0.25)
            texture = torch.randn(8, 1, 12, 12)
            image = torch.cat([texture, texture * disparity + 0.02 * torch.randn_like(texture)], 1)
            if torch.rand(()) < 0.05:
                disparity[0, 0, 3:6, 3:6] = 0
            depth = 1 / disparity
            out = net(image)
            keep = torch.isfinite(depth)
            loss = F.mse_loss(out[keep], depth[keep]) if healthy else F.mse_loss(out, depth)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
