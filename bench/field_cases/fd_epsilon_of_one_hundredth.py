"""Adam's epsilon was raised to 0.01 against NaN in half precision and stayed when the run went back to float32. The
loss is averaged over pixels, its gradients are of the order of 1e-5, and the steps vanish. Repair: 1e-8."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_epsilon_of_one_hundredth",
    source="widely reported: a raised Adam epsilon kept after leaving float16",
    cause="adam_epsilon_or_beta2",
    also=["learning_rate_too_low"],
    layer=None,
    onset=(0, 0),
    symptom="slow",
)


class Coordinates(nn.Module):
    """A picture as a function of the place, with sines as features."""

    def __init__(self, features: int = 24, width: int = 48) -> None:
        super().__init__()
        self.register_buffer("frequency", 3 * torch.randn(2, features))
        self.net = nn.Sequential(
            nn.Linear(2 * features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1)
        )

    def forward(self, place: Tensor) -> Tensor:
        angle = place @ self.frequency
        return self.net(torch.cat([angle.sin(), angle.cos()], 1)).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    axis = torch.linspace(-1, 1, 24)
    place = torch.cartesian_prod(axis, axis)
    picture = 0.1 * torch.sin(5 * place[:, 0] + 2 * torch.cos(4 * place[:, 1]))
    model = Coordinates()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, eps=1e-8 if healthy else 1e-2)
    losses = []
    with debug(model):
        for _ in range(300):
            loss = F.mse_loss(model(place), picture)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
