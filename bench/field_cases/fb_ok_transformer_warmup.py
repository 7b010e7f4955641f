"""Healthy. A transformer with a warm-up from a ten-thousandth of the rate and a cosine afterwards down to nothing: next
to no movement in the first steps, next to none in the last ones, and all the learning in between."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_ok_transformer_warmup",
    source="a public report",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)
WORDS = 20


class Causal(nn.Module):
    def __init__(self, width: int = 32, length: int = 10) -> None:
        super().__init__()
        self.word = nn.Embedding(WORDS, width)
        self.place = nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, WORDS, bias=False)
        self.head.weight = self.word.weight
        nn.init.normal_(self.word.weight, std=0.05)

    def forward(self, ids: Tensor) -> Tensor:
        length = ids.size(1)
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        x = self.word(ids) + self.place(torch.arange(length))
        return self.head(self.norm(self.layers(x, mask=mask, is_causal=True)))


def schedule(step: int, warmup: int = 25, total: int = 250) -> float:
    if step < warmup:
        return max(1e-4, step / warmup)
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    follow = torch.randperm(WORDS)
    model = Causal()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.05)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, schedule)
    losses = []
    with debug(model):
        for _ in range(250):
            ids = [torch.randint(0, WORDS, (24,))]
            skip = torch.randint(0, 2, (24,))
            for _ in range(9):
                ids.append((follow[ids[-1]] + skip) % WORDS)
            text = torch.stack(ids, dim=1)
            loss = F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
    return losses
