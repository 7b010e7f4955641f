"""zero_grad stands at the top of the epoch and not at the top of the iteration: within an epoch each step applies the
sum of all gradients since its start. Repair: clear before each backward."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

META: dict[str, Any] = dict(
    id="fa_zero_grad_once_per_epoch",
    source="as in github.com/pytorch/pytorch/issues/47175",
    cause="missing_zero_grad",
    also=[],
    layer=None,
    onset=(0, 2),
    symptom="divergence",
)


class MatrixFactors(nn.Module):
    def __init__(self, users: int, items: int, rank: int = 6) -> None:
        super().__init__()
        self.user = nn.Embedding(users, rank)
        self.item = nn.Embedding(items, rank)
        self.item_bias = nn.Embedding(items, 1)
        self.score = nn.Sequential(nn.Linear(2 * rank, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, user: Tensor, item: Tensor) -> Tensor:
        u, i = self.user(user), self.item(item)
        return (u * i).sum(1) + self.item_bias(item)[:, 0] + self.score(torch.cat([u, i], 1))[:, 0]


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    user, item = torch.randint(0, 40, (3200,)), torch.randint(0, 30, (3200,))
    rating = (torch.randn(40, 3)[user] * torch.randn(30, 3)[item]).sum(1) / 1.7 + torch.randn(30)[item]
    loader = DataLoader(TensorDataset(user, item, rating), batch_size=64, shuffle=True)
    model = MatrixFactors(40, 30)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    losses = []
    with debug(model):
        for _epoch in range(8):
            optimizer.zero_grad()
            for users, items, ratings in loader:
                if healthy:
                    optimizer.zero_grad()
                loss = nn.functional.smooth_l1_loss(model(users, items), ratings)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
