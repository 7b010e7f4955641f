"""A reader should find the flagged word of a text by attention. The weights of its queries and keys start with a
standard deviation of one where a fiftieth was meant: scores of dozens, each text has one word that takes all of the
attention from the start, seldom the flagged one, and the softmax passes no gradient. Repair: a fiftieth."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_query_weights_of_unit_size",
    source="widely reported: weights drawn with std=1 instead of 0.02",
    cause="init_too_large",
    also=["saturating_activation"],
    layer=["query", "key", ""],
    onset=(0, 0),
    symptom="saturation",
)


class Reader(nn.Module):
    def __init__(self, words: int, std: float, width: int = 48) -> None:
        super().__init__()
        self.word = nn.Embedding(words, width)
        self.flag = nn.Embedding(2, width)
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.ask = nn.Parameter(torch.randn(width))
        self.answer = nn.Linear(width, 4)
        nn.init.normal_(self.query.weight, std=std)
        nn.init.normal_(self.key.weight, std=std)

    def forward(self, ids: Tensor, flag: Tensor) -> Tensor:
        x = self.word(ids) + self.flag(flag)
        score = self.key(x) @ self.query(self.ask) / x.shape[2] ** 0.5
        return self.answer((score.softmax(1)[..., None] * x).sum(1))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    kind = torch.randint(0, 4, (60,))
    model = Reader(60, 0.02 if healthy else 1.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _ in range(200):
            ids = torch.randint(0, 60, (48, 10))
            at = torch.randint(0, 10, (48,))
            flag = nn.functional.one_hot(at, 10)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(ids, flag), kind[ids[torch.arange(48), at]])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
