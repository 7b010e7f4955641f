"""The depth net's output has a channel axis of one, the target has none, and the smooth L1 loss is written by hand:
every map is compared with the target of every image in the batch, and all converge on the mean map. Repair: give the
target its axis."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_depth_with_channel_axis",
    source="as in github.com/jiwei0921/CoNet/issues/3",
    cause="loss_shape_mismatch",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


def smooth_l1(prediction: Tensor, target: Tensor, beta: float = 0.5) -> Tensor:
    gap = (prediction - target).abs()
    return torch.where(gap < beta, 0.5 * gap**2 / beta, gap - 0.5 * beta).mean()


class DepthNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU())
        self.decode = nn.Sequential(nn.Conv2d(12, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 1, 1))

    def forward(self, image: Tensor) -> Tensor:
        return self.decode(self.encode(image))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    tint = torch.randn(3)
    model = DepthNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    with debug(model):
        for _ in range(200):
            depth = nn.functional.interpolate(torch.randn(8, 1, 3, 3), size=12, mode="bilinear").squeeze(1) * 1.5
            image = depth[:, None] * tint[:, None, None] + 0.2 * torch.randn(8, 3, 12, 12)
            loss = smooth_l1(model(image), depth.unsqueeze(1) if healthy else depth)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
