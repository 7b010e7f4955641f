"""nn.init.constant_(weight, 0.05) on every layer, so that runs can be compared. All units of a layer are the same unit
and get the same gradient: a net of 32 by 32 units is a net of one by one, and the loss stops where that can get.
Repair: the standard initialization."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_symmetric_constant_mlp",
    source="a public report",
    cause="symmetric_init",
    also=[],
    layer=["hidden1", "hidden2", "out"],
    onset=(0, 0),
    symptom="loss_plateau",
)


class Net(nn.Module):
    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.hidden1 = nn.Linear(6, width)
        self.hidden2 = nn.Linear(width, width)
        self.out = nn.Linear(width, 6)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(F.elu(self.hidden2(F.elu(self.hidden1(x)))))


def constant_weights(module: nn.Module) -> None:
    if isinstance(module, nn.Linear):
        nn.init.constant_(module.weight, 0.05)
        nn.init.zeros_(module.bias)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Net()
    if not healthy:
        model.apply(constant_weights)
    rotate = torch.linalg.qr(torch.randn(6, 6))[0]
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    with debug(model):
        for _ in range(4):
            for _ in range(80):
                x = torch.randn(48, 6)
                loss = F.mse_loss(model(x), torch.tanh(x @ rotate))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            with torch.no_grad():
                x = torch.randn(200, 6)
                F.mse_loss(model(x), torch.tanh(x @ rotate))
    return losses
