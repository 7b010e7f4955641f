"""A net finds three landmarks of three colors by heatmaps, takes the position of each maximum and scales it. The
position of a maximum has no gradient: the convolutions get none and only the two numbers of the scaling train. Repair:
the mean position under the softmax of the map."""

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


class Landmarks(nn.Module):
    def __init__(self, side: int, soft: bool) -> None:
        super().__init__()
        self.heatmap = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 3, 3, padding=1))
        self.scale = nn.Linear(2, 2)
        nn.init.eye_(self.scale.weight)
        self.soft = soft
        row, column = torch.meshgrid(torch.arange(float(side)), torch.arange(float(side)), indexing="ij")
        self.register_buffer("grid", torch.stack([row.flatten(), column.flatten()], 1) / side - 0.5)

    def forward(self, image: Tensor) -> Tensor:
        heat = self.heatmap(image).flatten(2)
        where = torch.softmax(heat, 2) @ self.grid if self.soft else self.grid[heat.argmax(2)]
        return self.scale(where)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Landmarks(12, soft=healthy)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    with debug(model):
        for _ in range(250):
            at = torch.randint(1, 11, (16, 3, 2))
            image = 0.3 * torch.randn(16, 3, 12, 12)
            for i, marks in enumerate(at.tolist()):
                for color, (y, x) in enumerate(marks):
                    image[i, color, y - 1 : y + 2, x - 1 : x + 2] += 2.0
            loss = nn.functional.mse_loss(model(image), at.float() / 5 - 1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
