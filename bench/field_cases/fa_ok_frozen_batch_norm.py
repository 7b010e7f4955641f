"""Healthy. Fine-tuning with frozen batch norm, as detectors do with small batches: every batch-norm module stays in
eval mode with its weights fixed, and the convolutions around them train."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_ok_frozen_batch_norm",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="none",
)


class Detector(nn.Module):
    def __init__(self, cells: int = 3) -> None:
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1, bias=False), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(12, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveMaxPool2d(cells),
        )  # fmt: skip
        self.objectness = nn.Conv2d(16, 1, 1)

    def train(self, mode: bool = True) -> "Detector":
        super().train(mode)
        for module in self.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.eval()
                module.requires_grad_(False)
        return self

    def forward(self, image: Tensor) -> Tensor:
        return self.objectness(self.backbone(image)).flatten(1)


def scenes(count: int, blob: Tensor) -> tuple[Tensor, Tensor]:
    present = (torch.rand(count, 9) < 0.35).float()
    image = torch.einsum("nij,kl->nikjl", present.view(count, 3, 3), blob).reshape(count, 1, 12, 12)
    return image + 0.5 * torch.randn(count, 1, 12, 12), present


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    old, new = torch.randn(4, 4), torch.randn(4, 4)
    model = Detector()
    image, present = scenes(400, old)
    nn.Module.train(model)
    before = torch.optim.Adam(model.parameters(), lr=5e-3)
    for rows in torch.randint(0, 400, (60, 32)):  # the pretraining on other objects, unobserved
        before.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(model(image[rows]), present[rows]).backward()
        before.step()
    image, present = scenes(400, new)
    model.train()
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.05, momentum=0.9)
    losses = []
    with debug(model):
        for rows in torch.randint(0, 400, (220, 4)):
            optimizer.zero_grad()
            loss = nn.functional.binary_cross_entropy_with_logits(model(image[rows]), present[rows])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
