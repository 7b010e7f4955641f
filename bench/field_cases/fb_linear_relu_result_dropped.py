"""The forward calls F.relu(x) and does not keep what it returns. The network of four layers is one linear map, and
rings around each other cannot be told apart by one: the loss stays at chance. Repair: x = F.relu(x)."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_linear_relu_result_dropped",
    source="a public report",
    cause="missing_nonlinearity",
    also=[],
    layer=["fc1", "fc2", "fc3", "fc4", ""],
    onset=(0, 0),
    symptom="loss_plateau",
)


class Rings(nn.Module):
    def __init__(self, keep: bool, width: int = 32) -> None:
        super().__init__()
        self.fc1 = nn.Linear(2, width)
        self.fc2 = nn.Linear(width, width)
        self.fc3 = nn.Linear(width, width)
        self.fc4 = nn.Linear(width, 3)
        self.keep = keep

    def forward(self, x: Tensor) -> Tensor:
        for layer in (self.fc1, self.fc2, self.fc3):
            x = layer(x)
            y = F.relu(x)
            if self.keep:
                x = y
        return self.fc4(x)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Rings(keep=healthy)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _ in range(400):
            ring = torch.randint(0, 3, (64,))
            angle = 6.2832 * torch.rand(64)
            radius = 0.5 + 0.6 * ring + 0.08 * torch.randn(64)
            x = torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1)
            loss = F.cross_entropy(model(x), ring)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
