"""The optimizer is built, and then the vocabulary grows: the embedding is replaced by a larger one. The optimizer goes
on with the weights of the old table; the new one gets gradients and no update. Repair: build the optimizer
afterwards."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_resized_embedding_stale",
    source="compare github.com/microsoft/nni/issues/4521: layers replaced after the optimizer was built",
    cause="parameters_not_in_optimizer",
    also=[],
    layer=["words"],
    onset=(0, 0),
    symptom="loss_plateau",
)


class Topic(nn.Module):
    def __init__(self, vocabulary: int, topics: int) -> None:
        super().__init__()
        self.words = nn.EmbeddingBag(vocabulary, 4, mode="mean")
        self.hidden = nn.Linear(4, 16)
        self.topic = nn.Linear(16, topics)

    def resize(self, vocabulary: int) -> None:
        old = self.words
        self.words = nn.EmbeddingBag(vocabulary, old.embedding_dim, mode="mean")
        with torch.no_grad():
            self.words.weight[: old.num_embeddings] = old.weight

    def forward(self, document: Tensor) -> Tensor:
        return self.topic(torch.relu(self.hidden(self.words(document))))


def corpus(count: int, vocabulary: int, topics: int) -> tuple[Tensor, Tensor]:
    topic = torch.randint(0, topics, (count,))
    home = torch.randperm(vocabulary).view(topics, -1)
    own = home[topic].gather(1, torch.randint(0, home.shape[1], (count, 12)))
    other = torch.randint(0, vocabulary, (count, 12))
    return torch.where(torch.rand(count, 12) < 0.6, own, other), topic


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    document, topic = corpus(2400, 240, 8)
    model = Topic(200, 8)
    if healthy:
        model.resize(240)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    if not healthy:
        model.resize(240)
    losses = []
    with debug(model):
        for _epoch in range(5):
            for rows in torch.randperm(2400).split(40):
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(document[rows]), topic[rows])
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
