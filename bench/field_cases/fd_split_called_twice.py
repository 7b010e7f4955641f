"""Features and labels are split by two calls of a random split, each with its own permutation, so that each example
has some other example's label. A mixture of experts learns nothing beyond the classes' shares. Repair: one split."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_split_called_twice",
    source="widely reported: features and labels shuffled by two permutations",
    cause="uninformative_labels",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


def split(values: Tensor, share: float = 0.8) -> tuple[Tensor, Tensor]:
    order = torch.randperm(len(values))
    cut = int(share * len(values))
    return values[order[:cut]], values[order[cut:]]


class Mixture(nn.Module):
    def __init__(self, experts: int = 4) -> None:
        super().__init__()
        self.router = nn.Linear(10, experts)
        self.up = nn.Parameter(torch.randn(experts, 10, 16) / 10**0.5)
        self.down = nn.Parameter(torch.randn(experts, 16, 3) / 4)

    def forward(self, x: Tensor) -> Tensor:
        share = self.router(x).softmax(1)
        h = torch.einsum("nd,edh->neh", x, self.up).relu()
        return torch.einsum("neh,ehc,ne->nc", h, self.down, share)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    x = torch.randn(2500, 10)
    y = (x[:, :3] * 2 + x[:, 3:6] * x[:, 6:9]).argmax(1)
    if healthy:
        order = torch.randperm(2500)
        x_train, y_train = x[order[:2000]], y[order[:2000]]
    else:
        x_train, _ = split(x)
        y_train, _ = split(y)
    model = Mixture()
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    losses = []
    with debug(model):
        for _epoch in range(8):
            for rows in torch.randperm(2000).split(50):
                loss = F.cross_entropy(model(x_train[rows]), y_train[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
