"""A critic's last layer has a tanh, for rewards once clipped to one; the discounted returns that it's asked for lie
far outside of that. Repair: no tanh."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_value_between_minus_one_and_one",
    source="widely reported: a value head with tanh for returns outside of -1..1",
    cause="wrong_output_activation",
    also=["saturating_activation"],
    layer=["", "bound"],
    onset=(0, 0),
    symptom="loss_plateau",
)


class Critic(nn.Module):
    def __init__(self, bounded: bool) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
        self.bound = nn.Tanh() if bounded else nn.Identity()

    def forward(self, state: Tensor) -> Tensor:
        return self.bound(self.body(state)).squeeze(-1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Critic(bounded=not healthy)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    worth = torch.randn(5)
    losses = []
    with debug(model):
        for _ in range(300):
            state = torch.randn(16, 6, 5)
            reward = state @ worth + 0.3
            returns = torch.zeros(16, 6)
            running = torch.zeros(16)
            for t in reversed(range(6)):
                running = reward[:, t] + 0.5 * running
                returns[:, t] = 0.7 * reward[:, t] + 0.3 * running
            loss = F.huber_loss(model(state), returns)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
