"""The box loss of a detector is summed over images, cells and coordinates, where the rate was chosen for a mean: each
gradient is a thousand times as large, and plain SGD is thrown out within a few steps. Repair: the mean."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_box_loss_summed",
    source="widely reported: reduction='sum' under a rate for the mean",
    cause="loss_scale",
    also=["learning_rate_too_high"],
    layer=None,
    onset=(0, 10),
    symptom="divergence",
)


class BoxNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 12, 3, 2, 1), nn.ReLU(), nn.Conv2d(12, 16, 3, 2, 1), nn.ReLU())
        self.boxes = nn.Conv2d(16, 4, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return self.boxes(self.stem(x))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = BoxNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    criterion = nn.MSELoss(reduction="mean" if healthy else "sum")
    basis = torch.randn(4, 1, 4, 4)
    losses = []
    with debug(model):
        for _ in range(220):
            box = torch.randn(12, 4, 4, 4)
            tiles = torch.einsum("nkhw,kcab->nchawb", box, basis).reshape(12, 1, 16, 16)
            loss = criterion(model(tiles + 0.1 * torch.randn(12, 1, 16, 16)), box)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item() / (1 if healthy else box.numel()))
    return losses
