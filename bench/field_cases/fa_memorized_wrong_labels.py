"""A wide net without any regularization is trained on 240 texts of which a quarter carry a wrong label, epoch after
epoch. Training accuracy reaches one, the validation loss turns after a few epochs and climbs. Repair: a narrow net
with dropout and weight decay, stopped early. The returned list is the validation loss after each epoch."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_memorized_wrong_labels",
    source="widely reported: a small labelled set, a large model, validation loss rising",
    cause="overfitting",
    also=[],
    layer=None,
    onset=(10, 220),
    symptom="divergence",
)


class WordAverage(nn.Module):
    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.embed = nn.EmbeddingBag(300, width)
        self.out = nn.Sequential(nn.Dropout(dropout), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 2))
        nn.init.normal_(self.embed.weight, std=0.3)

    def forward(self, words: Tensor) -> Tensor:
        return self.out(self.embed(words))


def texts(count: int, leaning: Tensor, wrong: float) -> tuple[Tensor, Tensor]:
    words = torch.randint(0, 300, (count, 15))
    label = (leaning[words].sum(1) > 0).long()
    flip = (torch.rand(count) < wrong).long()
    return words, (label + flip) % 2


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    leaning = torch.zeros(300)
    leaning[:60], leaning[60:120] = 1.0, -1.0
    train, valid = texts(2400 if healthy else 240, leaning, 0.25 if not healthy else 0.05), texts(400, leaning, 0.05)
    model = WordAverage(16, 0.2) if healthy else WordAverage(128, 0.0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=1e-2 if healthy else 0.0)
    validation = []
    with debug(model):
        for _epoch in range(6 if healthy else 40):
            model.train()
            for rows in torch.randperm(len(train[1])).split(40):
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(train[0][rows]), train[1][rows])
                loss.backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                validation.append(nn.functional.cross_entropy(model(valid[0]), valid[1]).item())
    return validation
