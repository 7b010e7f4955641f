"""A recommender's Adam has an epsilon of 0.1, a value that a manual gives for another net. A row of an embedding gets
gradients of a thousandth: the epsilon swamps them and the rows hardly move. Repair: 1e-8."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_recommender_epsilon_tenth",
    source="widely reported: epsilon 0.1 or 1.0 as advised for Inception",
    cause="adam_epsilon_or_beta2",
    also=["learning_rate_too_low"],
    layer=None,
    onset=(0, 0),
    symptom="slow",
)


class TwoTower(nn.Module):
    def __init__(self, users: int, items: int, width: int = 12) -> None:
        super().__init__()
        self.user = nn.Embedding(users, width)
        self.item = nn.Embedding(items, width)
        self.popularity = nn.Embedding(items, 1)
        nn.init.normal_(self.user.weight, std=0.2)
        nn.init.normal_(self.item.weight, std=0.2)
        nn.init.zeros_(self.popularity.weight)

    def forward(self, user: Tensor, item: Tensor) -> Tensor:
        return (self.user(user) * self.item(item)).sum(1) + self.popularity(item).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    taste, nature = torch.randn(80, 3), torch.randn(50, 3)
    liked = taste @ nature.t() > 0
    model = TwoTower(80, 50)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, eps=1e-8 if healthy else 0.1)
    losses = []
    with debug(model):
        for _ in range(400):
            user, item = torch.randint(0, 80, (128,)), torch.randint(0, 50, (128,))
            optimizer.zero_grad()
            loss = nn.functional.binary_cross_entropy_with_logits(model(user, item), liked[user, item].float())
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
