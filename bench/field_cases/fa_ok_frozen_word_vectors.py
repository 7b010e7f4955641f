"""Healthy. Pretrained word vectors are frozen by from_pretrained, and the classifier above them learns well."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_ok_frozen_word_vectors",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="none",
)


class VectorClassifier(nn.Module):
    def __init__(self, vectors: Tensor) -> None:
        super().__init__()
        self.embed = nn.Embedding.from_pretrained(vectors, freeze=True)
        self.lstm = nn.LSTM(vectors.shape[1], 24, batch_first=True)
        self.out = nn.Linear(24, 3)

    def forward(self, words: Tensor) -> Tensor:
        return self.out(self.lstm(self.embed(words))[0].amax(1))


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    vectors = torch.randn(60, 16)
    words = torch.randint(0, 60, (1500, 9))
    label = (vectors[words].sum(1) @ torch.randn(16, 3)).argmax(1)
    model = VectorClassifier(vectors)
    optimizer = torch.optim.Adam(model.parameters(), lr=6e-3)
    losses = []
    with debug(model):
        for rows in torch.randint(0, 1500, (260, 40)):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(words[rows]), label[rows])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
