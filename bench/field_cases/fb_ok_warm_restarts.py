"""Healthy. Cosine annealing with warm restarts: the rate goes to nearly nothing and jumps back four times, the loss
steps up at each restart and is lower at the end of each cycle than at the end of the one before."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_ok_warm_restarts",
    source="a public report",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Tagger(nn.Module):
    def __init__(self, words: int = 24, width: int = 24) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, batch_first=True, bidirectional=True)
        self.tag = nn.Linear(2 * width, 5)

    def forward(self, ids: Tensor) -> Tensor:
        return self.tag(self.lstm(self.embed(ids))[0])


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    kind = torch.randint(0, 5, (24,))
    model = Tagger()
    optimizer = torch.optim.AdamW(model.parameters(), lr=8e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=60, eta_min=1e-6)
    losses = []
    with debug(model):
        for _ in range(300):
            ids = torch.randint(0, 24, (16, 8))
            tag = (kind[ids] + kind[ids.roll(1, dims=1)]) % 5
            slip = torch.rand(16, 8) < 0.05
            tag = torch.where(slip, torch.randint(0, 5, (16, 8)), tag)
            loss = F.cross_entropy(model(ids).flatten(0, 1), tag.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
    return losses
