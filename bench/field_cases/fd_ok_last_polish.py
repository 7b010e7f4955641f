"""Healthy. A net that has been trained before is trained on at a rate of 1e-5: the loss starts low and stays about
there, as intended."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_ok_last_polish",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(30, 16)
        self.rnn = nn.GRU(16, 24, batch_first=True, bidirectional=True)
        self.out = nn.Linear(48, 5)

    def forward(self, words: Tensor) -> Tensor:
        return self.out(self.rnn(self.embed(words))[0])


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    table = torch.randint(0, 5, (30, 3))
    model = Tagger()

    def batch() -> tuple[Tensor, Tensor]:
        words = torch.randint(0, 30, (24, 7))
        before = F.pad(words[:, :-1], (1, 0))
        return words, table[words, before % 3]

    def step(optimizer: torch.optim.Optimizer) -> float:
        words, tags = batch()
        loss = F.cross_entropy(model(words).flatten(0, 1), tags.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    first = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(150):
        step(first)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    with debug(model):
        return [step(optimizer) for _ in range(200)]
