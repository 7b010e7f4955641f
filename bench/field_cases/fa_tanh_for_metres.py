"""An image-to-image net ends in tanh, as generators of pictures do, and its target is a height map of one to nine
metres. Every output runs to 1 and sticks there. Repair: no tanh."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_tanh_for_metres",
    source="compare github.com/togheppi/DCGAN/issues/2 and github.com/soumith/ganhacks/issues/75",
    cause="wrong_output_activation",
    also=["unscaled_target", "saturating_activation"],
    layer=["to_height", "to_height.1", "to_height.0", ""],
    onset=(0, 0),
    symptom="loss_plateau",
)


class HeightNet(nn.Module):
    def __init__(self, healthy: bool) -> None:
        super().__init__()
        self.down = nn.Conv2d(1, 12, 4, 2, 1)
        self.middle = nn.Conv2d(12, 12, 3, 1, 1)
        self.up = nn.ConvTranspose2d(12, 12, 4, 2, 1)
        last = nn.Conv2d(12, 1, 3, 1, 1)
        self.to_height = nn.Sequential(last, nn.Identity() if healthy else nn.Tanh())

    def forward(self, shade: Tensor) -> Tensor:
        x = nn.functional.leaky_relu(self.down(shade), 0.2)
        x = nn.functional.leaky_relu(self.middle(x), 0.2)
        return self.to_height(nn.functional.leaky_relu(self.up(x), 0.2))


def terrain(count: int) -> tuple[Tensor, Tensor]:
    height = 5 + 4 * (2 * nn.functional.interpolate(torch.rand(count, 1, 3, 3), size=(12, 12), mode="bicubic") - 1)
    height = height.clamp(1, 9)
    return (height - 5) / 2 + 0.1 * torch.randn_like(height), height


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    shade, height = terrain(240)
    model = HeightNet(healthy)
    losses = []
    with debug(model):
        optimizer = torch.optim.Adam(model.parameters(), lr=4e-3, betas=(0.5, 0.999))
        for _epoch in range(12):
            for rows in torch.randperm(240).split(12):
                loss = nn.functional.l1_loss(model(shade[rows]), height[rows])
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
