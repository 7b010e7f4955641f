"""A U-Net's weights are drawn between -0.001 and 0.001, all biases zero. Five layers of that give an output of zero
to within rounding, and SGD finds no slope. Repair: He's initialization."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_uniform_of_one_thousandth",
    source="widely reported: uniform_(-0.001, 0.001) for every layer",
    cause="init_too_small",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class UNet(nn.Module):
    def __init__(self, c: int = 8) -> None:
        super().__init__()
        self.inc = nn.Conv2d(1, c, 3, padding=1)
        self.down = nn.Conv2d(c, 2 * c, 3, stride=2, padding=1)
        self.bottom = nn.Conv2d(2 * c, 2 * c, 3, padding=1)
        self.up = nn.ConvTranspose2d(2 * c, c, 2, stride=2)
        self.join = nn.Conv2d(2 * c, c, 3, padding=1)
        self.outc = nn.Conv2d(c, 3, 1)

    def forward(self, x: Tensor) -> Tensor:
        a = F.relu(self.inc(x))
        b = F.relu(self.bottom(F.relu(self.down(a))))
        return self.outc(F.relu(self.join(torch.cat([a, F.relu(self.up(b))], 1))))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = UNet()
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            nn.init.zeros_(parameter)
        elif healthy:
            nn.init.kaiming_normal_(parameter, nonlinearity="relu")
        else:
            nn.init.uniform_(parameter, -1e-3, 1e-3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(150):
            field = F.interpolate(torch.randn(6, 1, 4, 4), size=12, mode="bilinear")
            label = (field[:, 0] > -0.25).long() + (field[:, 0] > 0.25).long()
            loss = F.cross_entropy(model(1.5 * field + 0.3 * torch.randn(6, 1, 12, 12)), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
