"""A factorization machine whose embeddings are all filled with 0.1. Every latent dimension of every embedding gets the
same gradient as the next one, so eight dimensions stay one dimension for ever and the interactions cannot be fitted.
Repair: a normal with a standard deviation of 0.1."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_symmetric_factorization_constant",
    source="a public report",
    cause="symmetric_init",
    also=[],
    layer=["left", "right"],
    onset=(0, 0),
    symptom="loss_plateau",
)


class FactorizationMachine(nn.Module):
    def __init__(self, left: int, right: int, width: int = 8) -> None:
        super().__init__()
        self.left = nn.Embedding(left, width)
        self.right = nn.Embedding(right, width)
        self.left_bias = nn.Embedding(left, 1)
        self.right_bias = nn.Embedding(right, 1)

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        together = (self.left(left) * self.right(right)).sum(dim=1)
        return together + (self.left_bias(left) + self.right_bias(right)).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    a, b = torch.randn(20, 4), torch.randn(16, 4)
    model = FactorizationMachine(20, 16)
    for table in (model.left, model.right):
        if healthy:
            nn.init.normal_(table.weight, std=0.1)
        else:
            nn.init.constant_(table.weight, 0.1)
    for table in (model.left_bias, model.right_bias):
        nn.init.zeros_(table.weight)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    losses = []
    with debug(model):
        for _ in range(400):
            left, right = torch.randint(0, 20, (64,)), torch.randint(0, 16, (64,))
            loss = F.mse_loss(model(left, right), (a[left] * b[right]).sum(dim=1) / 2)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
