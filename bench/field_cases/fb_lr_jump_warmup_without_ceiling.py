"""Warm-up by LambdaLR, `lambda step: step / warmup`, without the min(1, ...) around it. The warm-up itself is fine and
the loss falls; after it the rate goes on rising by the same amount each step, and when it has become many times the
intended one the loss breaks. Repair: the ceiling."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_lr_jump_warmup_without_ceiling",
    source="a public report",
    cause="learning_rate_jump",
    also=["learning_rate_too_high"],
    layer=None,
    onset=(15, 140),
    symptom="divergence",
)


class GatedBlock(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.conv = nn.Conv1d(width, 2 * width, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        value, gate = self.conv(self.norm(x).transpose(1, 2)).transpose(1, 2).chunk(2, dim=-1)
        return x + value * torch.sigmoid(gate)


class Tagger(nn.Module):
    def __init__(self, words: int = 30, width: int = 24, tags: int = 5) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.blocks = nn.Sequential(GatedBlock(width), GatedBlock(width))
        self.out = nn.Linear(width, tags)

    def forward(self, ids: Tensor) -> Tensor:
        return self.out(self.blocks(self.embed(ids)))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    kind = torch.randint(0, 5, (30,))
    model = Tagger()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, betas=(0.9, 0.98))
    warmup = 15
    factor = (lambda step: min(1.0, (step + 1) / warmup)) if healthy else (lambda step: (step + 1) / warmup)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    losses = []
    with debug(model):
        for _ in range(360):
            ids = torch.randint(0, 30, (16, 12))
            tag = (kind[ids] + kind[ids.roll(1, dims=1)]) % 5
            tag[:, 0] = kind[ids[:, 0]]
            loss = F.cross_entropy(model(ids).flatten(0, 1), tag.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
    return losses
