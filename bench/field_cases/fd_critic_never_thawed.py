"""In the generator's step the discriminator is frozen with set_requires_grad(D, False), and the line that thaws it
went missing when the loop was turned round. The discriminator stays as it was born. Repair: thaw it before its own
step. The returned list is the distance of the samples' mean and spread from the data's."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fd_critic_never_thawed",
    source="widely reported: a discriminator frozen for the generator step and never unfrozen",
    cause="frozen_parameters",
    also=["missing_optimizer_step"],
    layer=["critic", "critic.0", "critic.2"],
    onset=(0, 1),
    symptom="loss_plateau",
)


class Gan(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.generator = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
        self.critic = nn.Sequential(nn.Linear(2, 40), nn.LeakyReLU(0.2), nn.Linear(40, 1))
        self.anchor = nn.Parameter(torch.zeros(1))


def set_requires_grad(net: nn.Module, flag: bool) -> None:
    for parameter in net.parameters():
        parameter.requires_grad = flag


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    gan = Gan()
    generator_optimizer = torch.optim.Adam(gan.generator.parameters(), lr=2e-3, betas=(0.5, 0.9))
    critic_optimizer = torch.optim.Adam([*gan.critic.parameters(), gan.anchor], lr=4e-3, betas=(0.5, 0.9))
    apart = []
    with debug(gan):
        for _ in range(500):
            set_requires_grad(gan.critic, False)
            fake = gan.generator(torch.randn(64, 3))
            generator_optimizer.zero_grad()
            F.softplus(-gan.critic(fake)).mean().backward()
            generator_optimizer.step()

            if healthy:
                set_requires_grad(gan.critic, True)
            real = torch.tensor([2.0, -1.0]) + 0.6 * torch.randn(64, 2)
            critic_optimizer.zero_grad()
            judged_real, judged_fake = gan.critic(real) + gan.anchor, gan.critic(fake.detach()) + gan.anchor
            (F.softplus(-judged_real).mean() + F.softplus(judged_fake).mean()).backward()
            critic_optimizer.step()
            with torch.no_grad():
                mean_gap = (fake.mean(0) - torch.tensor([2.0, -1.0])).norm()
                apart.append((mean_gap + (fake.std(0) - 0.6).norm()).item())
    return apart
