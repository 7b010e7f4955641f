"""Healthy. bfloat16 autocast over float32 weights with accumulation over two batches: activations are rounded to three
digits, gradients too, and the model learns as it would in float32."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_ok_bf16_autocast",
    source="a public report",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(4, width)
        self.conv = nn.Conv1d(width, width, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(F.silu(self.norm(x)))


class NoisePredictor(nn.Module):
    """Predicts the noise in a noisy signal, given its level."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.inp = nn.Conv1d(1, width, 3, padding=1)
        self.level = nn.Linear(1, width)
        self.blocks = nn.Sequential(Block(width), Block(width))
        self.out = nn.Conv1d(width, 1, 3, padding=1)

    def forward(self, x: Tensor, level: Tensor) -> Tensor:
        return self.out(self.blocks(self.inp(x) + self.level(level)[..., None]))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = NoisePredictor()
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    losses = []
    with debug(model):
        for step in range(240):
            clean = torch.sin(0.3 * torch.arange(24.0) + 6.28 * torch.rand(12, 1, 1))
            level = 0.3 + 0.6 * torch.rand(12, 1)
            noise = torch.randn(12, 1, 24)
            noisy = (1 - level[..., None]) * clean + level[..., None] * noise
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = F.mse_loss(model(noisy, level).float(), noise)
            (loss / 2).backward()
            if step % 2 == 1:
                optimizer.step()
                optimizer.zero_grad()
            losses.append(loss.item())
    return losses
