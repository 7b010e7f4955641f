"""Electrode windows into an MLP-Mixer. One packet in the middle of the run comes in microvolts instead of
millivolts, a thousand times as large: one batch, finite, and the net has to begin anew. Repair: divide the
packet."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_packet_in_microvolts",
    source="widely reported: one file of a data set in another unit",
    cause="outlier_batch",
    also=[],
    layer=None,
    onset=(150, 153),
    symptom="loss_spike",
)


class Mixer(nn.Module):
    def __init__(self, electrodes: int = 8, length: int = 16) -> None:
        super().__init__()
        self.across_time = nn.Sequential(nn.Linear(length, 32), nn.ReLU(), nn.Linear(32, length))
        self.across_electrodes = nn.Sequential(nn.Linear(electrodes, 24), nn.ReLU(), nn.Linear(24, electrodes))
        self.out = nn.Linear(electrodes * length, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.across_time(x)
        x = x + self.across_electrodes(x.transpose(1, 2)).transpose(1, 2)
        return self.out(x.flatten(1))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    shape = torch.randn(4, 8, 16)
    model = Mixer()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
    losses = []
    with debug(model):
        for step in range(320):
            movement = torch.randint(0, 4, (32,))
            window = 0.25 * shape[movement] + torch.randn(32, 8, 16)
            if step == 150 and not healthy:
                window = 1000 * window
            loss = F.cross_entropy(model(window), movement)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
