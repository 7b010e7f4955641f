"""Healthy. A denoiser that predicts the noise: the loss falls in the first dozens of steps and then lies flat and
noisy, because most of the noise in a slightly noised image cannot be told from it."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_ok_noise_prediction",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Denoiser(nn.Module):
    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.time = nn.Embedding(20, width)
        self.enter = nn.Linear(6, width)
        self.body = nn.Sequential(nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.leave = nn.Linear(width, 6)
        nn.init.zeros_(self.leave.weight)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        return self.leave(self.body(self.enter(x) + self.time(t)))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    mixing = torch.randn(3, 6)
    model = Denoiser()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    losses = []
    with debug(model):
        for _ in range(400):
            clean = torch.randn(32, 3) @ mixing * 0.6
            t = torch.randint(0, 20, (32,))
            keep = torch.cos((t.float() + 1) / 21 * 1.57)[:, None] ** 2
            noise = torch.randn_like(clean)
            guess = model(keep.sqrt() * clean + (1 - keep).sqrt() * noise, t)
            loss = nn.functional.mse_loss(guess, noise)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
