"""Training is stopped and resumed from a checkpoint, and the resumed script builds its loader without the
normalization: from then on the images are raw pixels. The loss jumps at the resume and does not come back. Repair: the
same transform."""

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

META: dict[str, Any] = dict(
    id="fa_resume_without_normalize",
    source="widely reported: the loss jumps after resuming; the transform was not the same",
    cause="input_shift",
    also=["unnormalized_input"],
    layer=None,
    onset=(120, 121),
    symptom="loss_spike",
)


class Glyphs(Dataset[tuple[Tensor, Tensor]]):
    def __init__(self, image: Tensor, label: Tensor, transform: Callable[[Tensor], Tensor]) -> None:
        self.image, self.label, self.transform = image, label, transform

    def __len__(self) -> int:
        return len(self.label)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.transform(self.image[index]), self.label[index]


class GlyphNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.AvgPool2d(2), nn.Conv2d(8, 12, 3), nn.ReLU())
        self.classifier = nn.Linear(12 * 9, 5)

    def forward(self, image: Tensor) -> Tensor:
        return self.classifier(self.features(image).flatten(1))


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    stroke = (torch.randn(5, 1, 12, 12) > 0.6).float()
    label = torch.randint(0, 5, (480,))
    image = (stroke[label] * 120 + 70 + 45 * torch.randn(480, 1, 12, 12)).clamp(0, 255)
    mean, std = image.mean(), image.std()

    def normalize(picture: Tensor) -> Tensor:
        return (picture - mean) / std

    def identity(picture: Tensor) -> Tensor:
        return picture

    model = GlyphNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    losses: list[float] = []

    def train(transform: Callable[[Tensor], Tensor], epochs: int) -> None:
        loader = DataLoader(Glyphs(image, label, transform), batch_size=16, shuffle=True)
        for _epoch in range(epochs):
            for picture, kind in loader:
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(picture), kind, label_smoothing=0.05)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())

    with debug(model):
        train(normalize, epochs=4)
        checkpoint = copy.deepcopy({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
        model.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        train(normalize if healthy else identity, epochs=6)
    return losses
