"""A regression table is sorted by its target and read without shuffling. Within a batch all targets are nearly equal:
the last bias runs after them from the lowest to the highest, and the features are never learned. Repair:
shuffle=True."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

META: dict[str, Any] = dict(
    id="fa_sorted_by_price",
    source="widely reported: a file sorted by its target column and shuffle=False",
    cause="unshuffled_data",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_spike",
)


def auctions(count: int) -> tuple[Tensor, Tensor]:
    lot = torch.randn(count, 7)
    price = lot[:, 0] + 0.8 * lot[:, 1] * torch.sigmoid(lot[:, 2]) - lot[:, 3].abs()
    price = (price - price.mean()) / price.std()
    order = price.argsort()
    return lot[order], price[order].unsqueeze(1)


def validate(model: nn.Module, lot: Tensor, price: Tensor) -> float:
    model.eval()
    with torch.no_grad():
        loss = nn.functional.mse_loss(model(lot), price).item()
    model.train()
    return loss


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    """The returned list is the loss on a mixed validation set after every tenth step."""
    torch.manual_seed(seed)
    loader = DataLoader(TensorDataset(*auctions(1600)), batch_size=32, shuffle=healthy)
    lot, price = auctions(200)
    model = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    validation = []
    with debug(model):
        for _epoch in range(6):
            for step, (features, target) in enumerate(loader):
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(model(features), target)
                loss.backward()
                optimizer.step()
                if step % 10 == 9:
                    validation.append(validate(model, lot, price))
    return validation
