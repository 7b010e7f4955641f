"""Healthy. A critic with a gradient penalty and a generator: the critic's loss is negative and the generator's is
about anything. The samples come near the data. The list is the distance of the samples' moments from the data's."""

from collections.abc import Callable

import torch
from torch import nn

META = dict(
    id="fd_ok_wasserstein_pair",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Pair(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.generator = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2))
        self.critic = nn.Sequential(nn.Linear(2, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 1))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    pair = Pair()
    generator_optimizer = torch.optim.Adam(pair.generator.parameters(), lr=2e-3, betas=(0.0, 0.9))
    critic_optimizer = torch.optim.Adam(pair.critic.parameters(), lr=6e-3, betas=(0.0, 0.9))
    mean, mix = torch.tensor([1.5, -1.0]), torch.tensor([[0.8, 0.3], [0.0, 0.5]])
    apart = []
    with debug(pair):
        for step in range(500):
            real, fake = mean + torch.randn(64, 2) @ mix, pair.generator(torch.randn(64, 2))
            between = torch.lerp(real, fake.detach(), torch.rand(64, 1)).requires_grad_()
            slope = torch.autograd.grad(pair.critic(between).sum(), between, create_graph=True)[0]
            penalty = (slope.norm(dim=1) - 1).square().mean()
            loss = pair.critic(fake.detach()).mean() - pair.critic(real).mean() + 2 * penalty
            critic_optimizer.zero_grad()
            loss.backward()
            critic_optimizer.step()
            if step >= 20:
                generator_optimizer.zero_grad()
                (-pair.critic(pair.generator(torch.randn(64, 2))).mean()).backward()
                generator_optimizer.step()
            gap = (fake.mean(0) - real.mean(0)).norm() + (fake.T.cov() - real.T.cov()).norm()
            apart.append(gap.item())
    return apart
