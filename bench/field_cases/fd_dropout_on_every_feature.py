"""A recommender drops embeddings by F.dropout in its forward, 0.9 on the users and 0.9 on the items, before it
multiplies them: one product in a hundred comes through. Repair: 0.1."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_dropout_on_every_feature",
    source="widely reported: dropout of 0.9 on embeddings",
    cause="excessive_dropout",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class Factors(nn.Module):
    def __init__(self, drop: float, width: int = 12) -> None:
        super().__init__()
        self.user, self.item = nn.Embedding(40, width), nn.Embedding(30, width)
        self.bias = nn.Parameter(torch.zeros(1))
        self.drop = drop
        nn.init.normal_(self.user.weight, std=0.3)
        nn.init.normal_(self.item.weight, std=0.3)

    def forward(self, user: Tensor, item: Tensor) -> Tensor:
        u = F.dropout(self.user(user), self.drop, self.training)
        v = F.dropout(self.item(item), self.drop, self.training)
        return (u * v).sum(1) + self.bias


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    taste, kind = torch.randn(40, 3), torch.randn(30, 3)
    model = Factors(0.1 if healthy else 0.9)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    losses = []
    with debug(model):
        for _ in range(400):
            user, item = torch.randint(0, 40, (128,)), torch.randint(0, 30, (128,))
            loss = F.mse_loss(model(user, item), (taste[user] * kind[item]).sum(1) / 1.7)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
