"""Healthy. A small generative adversarial pair with hinge losses and two steps of the critic for each of the
generator. The losses swing around their balance; the samples' mean and spread approach those of the data. The returned
list is that distance."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

META: dict[str, Any] = dict(
    id="fa_ok_hinge_gan",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="none",
)


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    generator = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 8))
    critic = nn.Sequential(nn.Linear(8, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))
    pair = nn.ModuleDict({"generator": generator, "critic": critic})
    step_generator = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.0, 0.9))
    step_critic = torch.optim.Adam(critic.parameters(), lr=2e-3, betas=(0.0, 0.9))
    mean, mixing = 2 * torch.randn(8), 0.5 * torch.randn(8, 8)
    distance = []
    with debug(pair):
        for step in range(450):
            real = mean + torch.randn(48, 8) @ mixing
            fake = generator(torch.randn(48, 6))
            loss = torch.relu(1 - critic(real)).mean() + torch.relu(1 + critic(fake.detach())).mean()
            step_critic.zero_grad()
            loss.backward()
            step_critic.step()
            if step % 2:
                fake = generator(torch.randn(48, 6))
                loss = -critic(fake).mean()
                step_generator.zero_grad()
                loss.backward()
                step_generator.step()
            gap = (fake.detach().mean(0) - mean).norm() + (fake.detach().std(0) - mixing.norm(dim=0)).norm()
            distance.append(gap.item())
    return distance
