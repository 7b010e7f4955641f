"""Hospital stays lie in the table by their length, which is what the net should predict, and the batches are cut
from it in order: each batch has one length, and the output's bias runs after it. Repair: shuffle. The list is the
error over a tenth of all stays after each step."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_sorted_by_length_of_stay",
    source="widely reported: a table sorted by the target and batches in order",
    cause="unshuffled_data",
    also=[],
    layer=None,
    onset=(0, 40),
    symptom="divergence",
)


class Stay(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.ward = nn.Embedding(8, 4)
        self.net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, ward: Tensor, x: Tensor) -> Tensor:
        return self.net(torch.cat([self.ward(ward), x], 1)).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    ward, x = torch.randint(0, 8, (1600,)), torch.randn(1600, 6)
    days = torch.randn(8)[ward] + x[:, 0] - 0.7 * x[:, 1] * x[:, 2] + 0.3 * torch.randn(1600)
    days = (days - days.mean()) / days.std()
    order = days.argsort()
    ward, x, days = ward[order], x[order], days[order]
    model = Stay()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.04, momentum=0.9)
    errors = []
    with debug(model):
        for _epoch in range(6):
            rows = torch.randperm(1600) if healthy else torch.arange(1600)
            for batch in rows.split(32):
                loss = F.mse_loss(model(ward[batch], x[batch]), days[batch])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                with torch.no_grad():
                    errors.append(F.mse_loss(model(ward[::10], x[::10]), days[::10]).item())
    return errors
