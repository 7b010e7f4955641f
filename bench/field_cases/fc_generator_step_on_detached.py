"""The generator's step of a GAN was copied from the discriminator's and kept its detach(): the fakes that the generator
is judged by have no history, and it gets no gradient. The discriminator wins and the samples stay. Repair: no detach
in the generator's step. The returned list is the distance of the samples from the spiral arm they should lie on."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fc_generator_step_on_detached",
    source="widely reported: fake.detach() in the generator's step too, its gradients are None",
    cause="detached_graph",
    also=[],
    layer=["generator", "generator.0", "generator.2", "generator.4", ""],
    onset=(0, 0),
    symptom="loss_plateau",
)


class Gan(nn.Module):
    def __init__(self, noise: int = 4, width: int = 40) -> None:
        super().__init__()
        self.generator = nn.Sequential(
            nn.Linear(noise, width), nn.LeakyReLU(0.2), nn.Linear(width, width), nn.LeakyReLU(0.2), nn.Linear(width, 2)
        )
        self.critic = nn.Sequential(
            nn.Linear(2, width), nn.LeakyReLU(0.2), nn.Linear(width, width), nn.LeakyReLU(0.2), nn.Linear(width, 1)
        )


def arm(count: int) -> Tensor:
    angle = 3.14 * torch.rand(count)
    radius = 1.5 + 0.3 * angle
    return torch.stack([radius * angle.cos() + 1, radius * angle.sin()], 1) + 0.05 * torch.randn(count, 2)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    gan = Gan()
    critic_optimizer = torch.optim.Adam(gan.critic.parameters(), lr=2e-3, betas=(0.5, 0.99))
    generator_optimizer = torch.optim.Adam(gan.generator.parameters(), lr=2e-3, betas=(0.5, 0.99))
    where = arm(400)
    history = []
    with debug(gan):
        for _ in range(350):
            real, fake = arm(48), gan.generator(torch.randn(48, 4))
            critic_optimizer.zero_grad()
            loss = F.softplus(-gan.critic(real)).mean() + F.softplus(gan.critic(fake.detach())).mean()
            loss.backward()
            critic_optimizer.step()

            generator_optimizer.zero_grad()
            judged = gan.critic(fake if healthy else fake.detach())
            F.softplus(-judged).mean().backward()
            generator_optimizer.step()
            history.append(torch.cdist(fake.detach(), where).amin(1).mean().item())
    return history
