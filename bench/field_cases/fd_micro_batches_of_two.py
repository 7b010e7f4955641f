"""To save memory the batch of 32 became sixteen micro-batches of two with accumulated gradients. Batch norm after
global pooling sees two values a channel and makes them plus and minus one. Repair: micro-batches of sixteen."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_micro_batches_of_two",
    source="widely reported: gradient accumulation doesn't enlarge batch norm's batch",
    cause="batchnorm_small_batch",
    also=[],
    layer=["norm", "norm2", "", "body", "body.1"],
    onset=(0, 0),
    symptom="slow",
)


class Scans(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(2, 16, 5, padding=2)
        self.norm = nn.BatchNorm1d(16)
        self.mix = nn.Linear(16, 16)
        self.norm2 = nn.BatchNorm1d(16)
        self.out = nn.Linear(16, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = F.relu(self.conv(x)).mean(2)
        h = F.relu(self.norm2(self.mix(self.norm(h))))
        return self.out(h)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    kernel = torch.randn(3, 2, 1)
    model = Scans()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    micro = 16 if healthy else 2
    losses = []
    with debug(model):
        for _ in range(60):
            optimizer.zero_grad()
            label = torch.randint(0, 3, (32,))
            x = kernel[label] + 0.8 * torch.randn(32, 2, 20)
            for rows in torch.arange(32).split(micro):
                loss = F.cross_entropy(model(x[rows]), label[rows])
                (loss * micro / 32).backward()
                losses.append(loss.item())
            optimizer.step()
    return losses
