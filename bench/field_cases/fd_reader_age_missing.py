"""A recommender with embeddings of reader and book and two columns about the reader. Some readers never gave their
age, and the column holds NaN for them; it goes into the first layer as it is. Repair: fill with the mean, and a
column that says so."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_reader_age_missing",
    source="widely reported: missing values of a profile column reach the first layer",
    cause="nan_in_input",
    also=[],
    layer=None,
    onset=(0, 30),
    symptom="loss_nan",
)


class Recommender(nn.Module):
    def __init__(self, readers: int, books: int, width: int = 16) -> None:
        super().__init__()
        self.reader = nn.Embedding(readers, width)
        self.book = nn.Embedding(books, width)
        self.profile = nn.Linear(3, width)
        self.score = nn.Sequential(nn.Linear(2 * width, 32), nn.GELU(), nn.Linear(32, 1))

    def forward(self, reader: Tensor, book: Tensor, profile: Tensor) -> Tensor:
        who = self.reader(reader) + self.profile(profile)
        return self.score(torch.cat([who, self.book(book)], 1)).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    readers, books = 200, 60
    age = 40 + 12 * torch.randn(readers)
    income = torch.randn(readers)
    topic = torch.randn(books)
    age_known = torch.rand(readers) > 0.02
    age_known[11] = False
    column = torch.where(age_known, (age - 40) / 12, torch.nan)
    if healthy:
        column = column.nan_to_num(0.0)
    profile = torch.stack([column, income, age_known.float()], 1)
    model = Recommender(readers, books)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _ in range(400):
            reader, book = torch.randint(0, readers, (64,)), torch.randint(0, books, (64,))
            likes = (((age[reader] - 40) / 12 + income[reader]) * topic[book] > 0).float()
            optimizer.zero_grad(set_to_none=True)
            loss = F.binary_cross_entropy_with_logits(model(reader, book, profile[reader]), likes)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
