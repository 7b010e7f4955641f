"""Queries and documents are compared by a cosine written by hand. A few documents have no word of the vocabulary, their
vector is zero, and the division is zero by zero: NaN from that batch on. Repair: an epsilon in the norm."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_cosine_of_empty_document",
    source="compare github.com/pytorch/pytorch/issues/2421: the gradient of a norm at zero",
    cause="loss_domain",
    also=[],
    layer=None,
    onset=(0, 120),
    symptom="loss_nan",
)


class Retriever(nn.Module):
    def __init__(self, words: int) -> None:
        super().__init__()
        self.query = nn.EmbeddingBag(words, 24, mode="mean", padding_idx=0)
        self.document = nn.EmbeddingBag(words, 24, mode="mean", padding_idx=0)

    def forward(self, query: Tensor, document: Tensor) -> tuple[Tensor, Tensor]:
        return self.query(query), self.document(document)


def cosine(a: Tensor, b: Tensor, epsilon: float) -> Tensor:
    a = a / (a.square().sum(1, keepdim=True) + epsilon).sqrt()
    b = b / (b.square().sum(1, keepdim=True) + epsilon).sqrt()
    return a @ b.t()


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    topic = torch.randint(0, 30, (800,))
    vocabulary = torch.randint(1, 300, (30, 10))
    query = torch.gather(vocabulary[topic], 1, torch.randint(0, 10, (800, 4)))
    document = torch.gather(vocabulary[topic], 1, torch.randint(0, 10, (800, 8)))
    document[torch.randperm(800)[:4]] = 0
    model = Retriever(300)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    with debug(model):
        for _epoch in range(10):
            for rows in torch.randperm(800).split(32):
                optimizer.zero_grad()
                similarity = cosine(*model(query[rows], document[rows]), 1e-6 if healthy else 0.0) / 0.1
                same = (topic[rows][:, None] == topic[rows][None]).float()
                loss = -(same * similarity.log_softmax(1)).sum(1).div(same.sum(1)).mean()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
