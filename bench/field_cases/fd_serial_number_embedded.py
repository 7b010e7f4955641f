"""Machines that will fail or won't, and among the columns the machine's serial number, which got an embedding. Each
machine occurs once: the net learns the list by heart, and what it says of new machines gets worse from epoch to
epoch. Repair: leave the column out and stop in time. The list is the validation loss of each epoch."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_serial_number_embedded",
    source="widely reported: an identifier among the features",
    cause="overfitting",
    also=[],
    layer=None,
    onset=(20, 300),
    symptom="divergence",
)


class Machines(nn.Module):
    def __init__(self, serial: bool) -> None:
        super().__init__()
        self.serial = nn.Embedding(900, 24) if serial else None
        self.net = nn.Sequential(nn.Linear(8 + 24 * serial, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, x: Tensor, number: Tensor) -> Tensor:
        if self.serial is not None:
            x = torch.cat([x, self.serial(number)], 1)
        return self.net(x).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    x, number = torch.randn(900, 8), torch.randperm(900)
    fails = (x[:, :3].sum(1) + 1.5 * torch.randn(900) > 0).float()
    model = Machines(serial=not healthy)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    validation = []
    with debug(model):
        for _epoch in range(6 if healthy else 30):
            for rows in torch.randperm(500).split(25):
                loss = F.binary_cross_entropy_with_logits(model(x[rows], number[rows]), fails[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                guess = model(x[500:], number[500:])
                validation.append(F.binary_cross_entropy_with_logits(guess, fails[500:]).item())
    return validation
