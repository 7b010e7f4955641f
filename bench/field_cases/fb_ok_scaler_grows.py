"""Healthy. A gradient scaler that doubles its scale every forty steps until, in the second half of the run, the scaled
gradients overflow now and then; it skips such a step, halves the scale, and goes on. Infinite gradients, on
purpose."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_ok_scaler_grows",
    source="a public report",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Ranker(nn.Module):
    def __init__(self, words: int = 40, width: int = 32) -> None:
        super().__init__()
        self.embed = nn.EmbeddingBag(words, width, mode="mean")
        self.score = nn.Sequential(nn.Linear(width, 48), nn.GELU(), nn.LayerNorm(48), nn.Linear(48, 1))

    def forward(self, ids: Tensor) -> Tensor:
        return self.score(self.embed(ids)).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    worth = torch.randn(40)
    model = Ranker()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**14, growth_interval=40)
    losses = []
    with debug(model):
        for _ in range(300):
            good, bad = torch.randint(0, 40, (32, 6)), torch.randint(0, 40, (32, 6))
            swap = (worth[good].sum(dim=1) < worth[bad].sum(dim=1))[:, None]
            good, bad = torch.where(swap, bad, good), torch.where(swap, good, bad)
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16):
                margin = model(good) - model(bad)
            loss = F.softplus(-margin.float()).mean()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
    return losses
