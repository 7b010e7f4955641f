"""An autoencoder's squared error is summed over the pixels of an image and averaged over the batch only, while the
step is that of the mean error. Repair: the mean. The returned list is the mean squared error."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_pixel_sum_autoencoder",
    source="compare github.com/ai-safety-foundation/sparse_autoencoder/issues/63",
    cause="loss_scale",
    also=["learning_rate_too_high"],
    layer=None,
    onset=(0, 0),
    symptom="divergence",
)


class SquaredError(nn.Module):
    def __init__(self, healthy: bool) -> None:
        super().__init__()
        self.healthy = healthy

    def forward(self, restored: Tensor, image: Tensor) -> Tensor:
        squared = (restored - image) ** 2
        return squared.mean() if self.healthy else squared.sum((1, 2, 3)).mean()


class Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 6))
        self.decode = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 64), nn.Unflatten(1, (1, 8, 8)))

    def forward(self, image: Tensor) -> Tensor:
        return self.decode(self.encode(image))


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    image = (torch.randn(1500, 4) @ torch.randn(4, 64)).tanh().view(-1, 1, 8, 8)
    model = Autoencoder()
    criterion = SquaredError(healthy)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.15, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=320)
    losses = []
    with debug(model):
        for _step in range(320):
            batch = image[torch.randint(0, 1500, (32,))]
            restored = model(batch)
            loss = criterion(restored, batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(nn.functional.mse_loss(restored.detach(), batch).item())
    return losses
