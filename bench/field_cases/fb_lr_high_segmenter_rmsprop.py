"""A Trainer class for a small encoder-decoder that segments blobs, with RMSprop at 0.5. The output layer is thrown to
large values by the first updates and most units stay at zero after it, so the loss swings around that of an
all-background answer. Repair: 1e-3."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_lr_high_segmenter_rmsprop",
    source="a public report",
    cause="learning_rate_too_high",
    also=[],
    layer=None,
    onset=(0, 20),
    symptom="divergence",
)


class Segmenter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encode1 = nn.Conv2d(1, 8, 3, padding=1)
        self.encode2 = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.middle = nn.Conv2d(16, 16, 3, padding=1)
        self.decode = nn.Conv2d(24, 8, 3, padding=1)
        self.out = nn.Conv2d(8, 1, 1)

    def forward(self, image: Tensor) -> Tensor:
        fine = F.relu(self.encode1(image))
        coarse = F.relu(self.middle(F.relu(self.encode2(fine))))
        up = F.interpolate(coarse, scale_factor=2.0)
        return self.out(F.relu(self.decode(torch.cat([fine, up], 1))))


class Trainer:
    def __init__(self, model: nn.Module, lr: float) -> None:
        self.model = model
        self.optimizer = torch.optim.RMSprop(model.parameters(), lr=lr)
        self.history: list[float] = []

    def batch(self) -> tuple[Tensor, Tensor]:
        field = F.interpolate(torch.randn(8, 1, 4, 4), size=16, mode="bilinear")
        mask = (field > 0.2).float()
        return 1.5 * (mask - 0.4) + 0.7 * torch.randn(8, 1, 16, 16), mask

    def step(self) -> None:
        image, mask = self.batch()
        loss = F.binary_cross_entropy_with_logits(self.model(image), mask)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self.history.append(loss.item())

    @torch.no_grad()
    def validate(self) -> float:
        image, mask = self.batch()
        return ((self.model(image) > 0) == (mask > 0.5)).float().mean().item()

    def fit(self, epochs: int, steps: int) -> None:
        for _ in range(epochs):
            for _ in range(steps):
                self.step()
            self.validate()


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Segmenter()
    trainer = Trainer(model, lr=1e-3 if healthy else 0.5)
    with debug(model):
        trainer.fit(epochs=5, steps=50)
    return trainer.history
