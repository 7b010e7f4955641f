"""Healthy. Linear warm-up, then half a cosine down to exactly zero at the last step: the first steps hardly learn, the
rate rises thirtyfold, and in the end nothing moves any more because the run is done."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_ok_warmup_cosine_to_zero",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="none",
)


class Patches(nn.Module):
    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.embed = nn.Conv2d(1, width, 4, 4)
        self.place = nn.Parameter(0.02 * torch.randn(1, 9, width))
        self.block = nn.TransformerEncoderLayer(
            width, 3, 48, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 4)

    def forward(self, image: Tensor) -> Tensor:
        tokens = self.embed(image).flatten(2).transpose(1, 2) + self.place
        return self.head(self.norm(self.block(tokens)).mean(1))


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    total, warm = 260, 30
    shape = torch.randn(4, 1, 12, 12)
    label = torch.randint(0, 4, (800,))
    image = 0.5 * shape[label] + torch.randn(800, 1, 12, 12)

    def factor(step: int) -> float:
        if step < warm:
            return (step + 1) / warm
        return 0.5 * (1 + math.cos(math.pi * (step - warm) / (total - 1 - warm)))

    model = Patches()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.05)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    losses = []
    with debug(model):
        for rows in torch.randint(0, 800, (total, 32)):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(image[rows]), label[rows])
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
    return losses
