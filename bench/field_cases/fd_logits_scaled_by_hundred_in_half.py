"""A contrastive model learns its own temperature. Under float16 the similarities are multiplied by the learnt scale
before the features are normalized, and the product leaves the range. Repair: normalize first."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_logits_scaled_by_hundred_in_half",
    source="widely reported: CLIP-like training in float16 overflows in the logits",
    cause="half_precision_overflow",
    also=[],
    layer=["", "image", "text"],
    onset=(0, 200),
    symptom="loss_nan",
)


class Clip(nn.Module):
    def __init__(self, normalize_first: bool, width: int = 32) -> None:
        super().__init__()
        self.image = nn.Sequential(nn.Linear(24, 64), nn.GELU(), nn.Linear(64, width))
        self.text = nn.Sequential(nn.Embedding(30, 32), nn.Flatten(), nn.Linear(32 * 4, width))
        self.scale = nn.Parameter(torch.tensor(14.0))
        self.normalize_first = normalize_first

    def forward(self, picture: Tensor, words: Tensor) -> Tensor:
        a, b = 40 * self.image(picture), 40 * self.text(words)
        if self.normalize_first:
            return self.scale * F.normalize(a.float(), dim=1) @ F.normalize(b.float(), dim=1).t()
        dots = (self.scale.to(a.dtype) * a) @ b.t()
        return dots / (a.norm(dim=1, keepdim=True) * b.norm(dim=1)).clamp(min=1e-3)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    look = torch.randn(30, 24)
    model = Clip(normalize_first=healthy)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    losses = []
    with debug(model):
        for _ in range(200):
            words = torch.randint(0, 30, (32, 4))
            picture = look[words].mean(1) * 2 + 0.2 * torch.randn(32, 24)
            with torch.autocast("cpu", dtype=torch.float16):
                logits = model(picture, words)
            logits, same = logits.float(), torch.arange(32)
            loss = (F.cross_entropy(logits, same) + F.cross_entropy(logits.t(), same)) / 2
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
