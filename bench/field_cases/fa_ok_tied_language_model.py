"""Healthy. A language model whose output layer shares the embedding's weight, with the usual small initialization. One
parameter is reached by two modules."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_ok_tied_language_model",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="none",
)


class TiedModel(nn.Module):
    def __init__(self, symbols: int = 20, width: int = 32) -> None:
        super().__init__()
        self.wte = nn.Embedding(symbols, width)
        nn.init.normal_(self.wte.weight, std=0.05)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.norm = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, symbols, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, ids: Tensor) -> Tensor:
        return self.lm_head(self.norm(self.rnn(self.wte(ids))[0]))


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    chain = torch.softmax(4 * torch.randn(20, 20), dim=1)
    column = [torch.randint(0, 20, (600,))]
    for _position in range(12):
        column.append(torch.multinomial(chain[column[-1]], 1).squeeze(1))
    text = torch.stack(column, 1)
    model = TiedModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, betas=(0.9, 0.95))
    losses = []
    with debug(model):
        for rows in torch.randint(0, 600, (260, 24)):
            logits = model(text[rows, :-1])
            loss = nn.functional.cross_entropy(logits.transpose(1, 2), text[rows, 1:])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
