"""Healthy. Two towers over three thousand items with sparse gradients: most rows of the table get no gradient in
most steps, and some never."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_ok_rare_words_sparse",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Towers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.item = nn.Embedding(3000, 8, sparse=True)
        self.user = nn.Embedding(60, 8, sparse=True)
        nn.init.normal_(self.item.weight, std=0.3)
        nn.init.normal_(self.user.weight, std=0.3)

    def forward(self, user: Tensor, item: Tensor) -> Tensor:
        return (self.user(user) * self.item(item)).sum(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    taste, kind = torch.randn(60, 2), torch.randn(3000, 2)
    popular = 1.0 / torch.arange(1.0, 3001.0) ** 1.3
    model = Towers()
    optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=3e-2)
    losses = []
    with debug(model):
        for _ in range(450):
            user, item = torch.randint(0, 60, (128,)), torch.multinomial(popular, 128, replacement=True)
            liked = ((taste[user] * kind[item]).sum(1) > 0).float()
            loss = F.binary_cross_entropy_with_logits(model(user, item), liked)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
