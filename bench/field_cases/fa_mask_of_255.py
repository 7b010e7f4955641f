"""Segmentation masks are read from image files and hold 0 and 255, and binary cross-entropy takes them as they are.
The loss is negative from early on and falls without end. Repair: divide the mask by 255."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

META: dict[str, Any] = dict(
    id="fa_mask_of_255",
    source="widely reported: BCEWithLogitsLoss goes negative with masks of 0 and 255",
    cause="invalid_target",
    also=["unscaled_target"],
    layer=None,
    onset=(0, 0),
    symptom="divergence",
)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.ELU(), nn.Conv2d(8, 16, 3, padding=1), nn.ELU())
        self.decode = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.out = nn.Conv2d(8, 1, 3, padding=1)

    def forward(self, image: Tensor) -> Tensor:
        return self.out(nn.functional.elu(self.decode(self.encode(image))))


def cells(count: int) -> tuple[Tensor, Tensor]:
    grid = torch.arange(16.0)
    centre = 3 + 10 * torch.rand(count, 2, 1, 1)
    distance = (grid.view(1, 16, 1) - centre[:, 0]) ** 2 + (grid.view(1, 1, 16) - centre[:, 1]) ** 2
    mask = (distance < 9).float().unsqueeze(1)
    return mask + 0.5 * torch.randn_like(mask) - 0.1, 255 * mask


def train_one_epoch(
    model: nn.Module, loader: DataLoader[Any], criterion: nn.Module, optimizer: torch.optim.Optimizer, scale: float
) -> list[float]:
    model.train()
    losses = []
    for image, mask in loader:
        optimizer.zero_grad()
        loss = criterion(model(image), mask / scale)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    loader = DataLoader(TensorDataset(*cells(192)), batch_size=16, shuffle=True)
    model = Net()
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    losses: list[float] = []
    with debug(model):
        for _epoch in range(14):
            losses += train_one_epoch(model, loader, criterion, optimizer, scale=255.0 if healthy else 1.0)
    return losses
