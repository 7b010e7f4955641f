"""A net finds a landmark by a heatmap, takes the position of its maximum and scales it. The maximum's position has no
gradient: the convolutions get none and only the two numbers of the scaling train. Repair: the mean position under the
softmax of the map."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_keypoint_argmax",
    source="widely reported: argmax in the forward, the gradients before it are None",
    cause="detached_graph",
    also=[],
    layer=["heatmap", "heatmap.0", "heatmap.2", ""],
    onset=(0, 0),
    symptom="loss_plateau",
)


class Landmark(nn.Module):
    def __init__(self, side: int, soft: bool) -> None:
        super().__init__()
        self.heatmap = nn.Sequential(nn.Conv2d(1, 12, 5, padding=2), nn.ReLU(), nn.Conv2d(12, 1, 3, padding=1))
        self.scale = nn.Linear(2, 2)
        self.soft = soft
        row, column = torch.meshgrid(torch.arange(float(side)), torch.arange(float(side)), indexing="ij")
        self.register_buffer("grid", torch.stack([row.flatten(), column.flatten()], 1) / side - 0.5)

    def forward(self, image: Tensor) -> Tensor:
        heat = self.heatmap(image).flatten(1)
        where = torch.softmax(heat, 1) @ self.grid if self.soft else self.grid[heat.argmax(1)]
        return self.scale(where)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    stamp = torch.randn(3, 3)
    model = Landmark(12, soft=healthy)
    optimizer = torch.optim.Adam(model.parameters(), lr=8e-3)
    losses = []
    with debug(model):
        for _ in range(250):
            at = torch.randint(1, 11, (16, 2))
            image = 0.3 * torch.randn(16, 1, 12, 12)
            for i, (y, x) in enumerate(at.tolist()):
                image[i, 0, y - 1 : y + 2, x - 1 : x + 2] += 1.5 * stamp
            loss = nn.functional.mse_loss(model(image), at.float() / 5 - 1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
