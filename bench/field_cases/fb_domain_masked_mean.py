"""Masked-token pretraining with short batches: the loss is summed over the masked positions and divided by their
number. With a masking rate of four in a hundred a batch comes up in which nothing is masked, and 0/0 is NaN. Repair:
divide by at least one."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_domain_masked_mean",
    source="a public report",
    cause="loss_domain",
    also=[],
    layer=None,
    onset=(0, 120),
    symptom="loss_nan",
)
WORDS, MASK = 16, 16


class MaskedModel(nn.Module):
    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.embed = nn.Embedding(WORDS + 1, width)
        self.mix = nn.Conv1d(width, 48, 3, padding=1)
        self.out = nn.Linear(48, WORDS)

    def forward(self, ids: Tensor) -> Tensor:
        return self.out(F.gelu(self.mix(self.embed(ids).transpose(1, 2))).transpose(1, 2))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    follow = torch.randperm(WORDS)
    model = MaskedModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    losses = []
    with debug(model):
        for _ in range(400):
            ids = torch.randint(0, WORDS, (8, 1))
            for _ in range(11):
                ids = torch.cat([ids, follow[ids[:, -1:]]], dim=1)
            masked = torch.rand(ids.shape) < 0.04
            each = F.cross_entropy(
                model(ids.masked_fill(masked, MASK)).flatten(0, 1), ids.flatten(), reduction="none"
            ).view_as(ids)
            count = masked.sum()
            loss = (each * masked).sum() / (count.clamp(min=1) if healthy else count)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
