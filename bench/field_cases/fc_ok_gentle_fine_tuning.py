"""Healthy. A net that was trained on the same kind of data is fine-tuned at 3e-4 with decay to zero: the loss starts
low and goes down a little, which is what fine-tuning looks like."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_ok_gentle_fine_tuning",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(60, 24)
        self.mix = nn.Sequential(nn.Linear(24, 48), nn.GELU(), nn.Linear(48, 24))
        self.norm = nn.LayerNorm(24)
        self.out = nn.Linear(24, 2)

    def forward(self, ids: Tensor) -> Tensor:
        h = self.embed(ids).mean(1)
        return self.out(self.norm(h + self.mix(h)))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    old, drift = torch.randn(60), torch.randn(60)

    def texts(mood: Tensor) -> tuple[Tensor, Tensor]:
        ids = torch.randint(0, 60, (48, 8))
        return ids, (mood[ids].sum(1) > 0).long()

    model = Encoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(150):
        ids, label = texts(old)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(ids), label).backward()
        optimizer.step()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=250)
    losses = []
    with debug(model):
        for _ in range(250):
            ids, label = texts(old + 0.5 * drift)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(ids), label)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
    return losses
