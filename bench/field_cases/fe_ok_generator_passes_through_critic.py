"""Healthy. A GAN of points on a ring: the generator's backward leaves gradients in the critic, which are cleared before its own step. The list is the distance to the ring."""

import math

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_ok_generator_passes_through_critic",
    source='a common practice',
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    gen = nn.Sequential(nn.Linear(4, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2), nn.Linear(48, 2))
    dis = nn.Sequential(nn.Linear(2, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))
    model = nn.ModuleDict(dict(gen=gen, dis=dis))
    go = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.5, 0.999))
    do = torch.optim.Adam(dis.parameters(), lr=2e-3, betas=(0.5, 0.999))
    one = torch.ones(64, 1)
    values = []
    with debug(model):
        for _ in range(500):
            a = 2 * math.pi * torch.rand(64, 1)
            real = 2 * torch.cat([a.cos(), a.sin()], 1) + 0.1 * torch.randn(64, 2)
            fake = gen(torch.randn(64, 4))
            do.zero_grad()
            d = F.binary_cross_entropy_with_logits(dis(real), 0.9 * one) + F.binary_cross_entropy_with_logits(dis(fake.detach()), 0 * one)
            d.backward()
            do.step()
            go.zero_grad()
            F.binary_cross_entropy_with_logits(dis(fake), one).backward()
            go.step()
            values.append((fake.norm(dim=1) - 2).abs().mean().item())
    return values
