"""The recipe that starts the last batch norm of a residual block at zero is applied to a net that has no skips. Behind
the zero comes a ReLU, whose slope at zero is zero: the block's channels are zero on every input and get no gradient,
ever. Repair: start at one."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_zero_gamma_without_skip",
    source="widely reported: zero_init_residual on a plain net",
    cause="dying_relu",
    also=["init_too_small", "symmetric_init"],
    layer=["block2.relu", "block2.norm", "block2", "block2.conv"],
    onset=(0, 0),
    symptom="dead_units",
)


class Block(nn.Module):
    def __init__(self, fan_in: int, fan_out: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(fan_in, fan_out, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(fan_out)
        self.relu = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.relu(self.norm(self.conv(x)))


class PlainNet(nn.Module):
    def __init__(self, zero: bool) -> None:
        super().__init__()
        self.block1 = Block(1, 10)
        self.block2 = Block(10, 10)
        self.head = nn.Linear(10 * 16, 4)
        if zero:
            nn.init.zeros_(self.block2.norm.weight)

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.max_pool2d(self.block1(x), 2)
        return self.head(self.block2(x).flatten(1))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    shape = nn.functional.avg_pool2d(torch.randn(4, 1, 8, 8), 3, 1, 1) * 3
    label = torch.randint(0, 4, (500,))
    image = shape[label] + 0.7 * torch.randn(500, 1, 8, 8)
    model = PlainNet(zero=not healthy)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(160):
            rows = torch.randint(0, 500, (20,))
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(image[rows]), label[rows])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
