"""A bidirectional LSTM without dropout reads seventy reviews, epoch after epoch. It knows them by heart after a few
dozen steps, the training loss goes to zero and the validation loss climbs. Repair: all the data there is, and dropout.
The returned list is the validation loss after each epoch."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_seventy_reviews",
    source="widely reported: validation loss rises from the third epoch on",
    cause="overfitting",
    also=[],
    layer=None,
    onset=(10, 160),
    symptom="divergence",
)


class ReviewNet(nn.Module):
    def __init__(self, words: int, dropout: float) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, 24)
        self.lstm = nn.LSTM(24, 24, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(48, 2)

    def forward(self, ids: Tensor) -> Tensor:
        return self.out(self.dropout(self.lstm(self.embed(ids))[0].mean(1)))


def reviews(count: int, mood: Tensor) -> tuple[Tensor, Tensor]:
    ids = torch.randint(0, len(mood), (count, 10))
    return ids, (mood[ids].sum(1) + 0.5 * torch.randn(count) > 0).long()


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    mood = torch.randn(150)
    ids, label = reviews(1400 if healthy else 70, mood)
    valid_ids, valid_label = reviews(300, mood)
    model = ReviewNet(150, 0.3 if healthy else 0.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    validation = []
    with debug(model):
        for _epoch in range(4 if healthy else 40):
            model.train()
            for rows in torch.randperm(len(label)).split(14):
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(ids[rows]), label[rows]).backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                validation.append(nn.functional.cross_entropy(model(valid_ids), valid_label).item())
    return validation
