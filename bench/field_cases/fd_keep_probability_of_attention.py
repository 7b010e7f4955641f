"""A transformer ported from a framework whose dropout takes what to keep: 0.97 on every sublayer. Three in a hundred
units are left, thirty-three times as large. Repair: 0.03."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_keep_probability_of_attention",
    source="widely reported: keep_prob taken for the drop rate",
    cause="excessive_dropout",
    also=[],
    layer=["drop1", "drop2", ""],
    onset=(0, 0),
    symptom="loss_plateau",
)


class Sublayers(nn.Module):
    def __init__(self, drop: float, width: int = 24) -> None:
        super().__init__()
        self.embed = nn.Linear(4, width)
        self.attend = nn.MultiheadAttention(width, 2, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.drop1, self.drop2, self.drop3 = nn.Dropout(drop), nn.Dropout(drop), nn.Dropout(drop)
        self.feed = nn.Sequential(nn.Linear(width, 48), nn.GELU(), nn.Linear(48, width))
        self.out = nn.Linear(width, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = self.drop1(self.embed(x))
        n = self.norm1(h)
        h = h + self.drop2(self.attend(n, n, n, need_weights=False)[0])
        return self.out((h + self.drop3(self.feed(self.norm2(h)))).mean(1))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    pattern = torch.randn(3, 8, 4)
    model = Sublayers(0.03 if healthy else 0.97)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    losses = []
    with debug(model):
        for _ in range(250):
            label = torch.randint(0, 3, (24,))
            loss = F.cross_entropy(model(0.7 * pattern[label] + 0.7 * torch.randn(24, 8, 4)), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
