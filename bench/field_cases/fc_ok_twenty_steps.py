"""Healthy. A run of twenty steps, to see whether everything works: the loss has hardly begun to fall."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_ok_twenty_steps",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class TokenMixer(nn.Module):
    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, width)
        self.block = nn.TransformerEncoderLayer(width, 2, 64, 0.1, batch_first=True)
        self.out = nn.Linear(width, 3)

    def forward(self, ids: Tensor) -> Tensor:
        return self.out(self.block(self.embed(ids)).mean(1))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    kind = torch.randint(0, 3, (50,))
    model = TokenMixer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    with debug(model):
        for _ in range(20):
            ids = torch.randint(0, 50, (32, 8))
            label = nn.functional.one_hot(kind[ids], 3).sum(1).argmax(1)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(ids), label)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
