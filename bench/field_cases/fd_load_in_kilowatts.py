"""A recurrent forecaster of the grid's load. The inputs are standardized, the target is not: some forty thousand
kilowatts. With Adam at 1e-3 the output bias creeps up by a thousandth a step, and nothing is learnt. Repair:
standardize the target too. The returned list is the loss in units of the target's variance."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_load_in_kilowatts",
    source="widely reported: a forecaster trained on raw loads, prices or passengers",
    cause="unscaled_target",
    also=["learning_rate_too_low"],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class Forecaster(nn.Module):
    def __init__(self, hidden: int = 24) -> None:
        super().__init__()
        self.gru = nn.GRU(2, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, window: Tensor) -> Tensor:
        return self.head(self.gru(window)[0][:, -1]).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    hour = torch.arange(1200.0)
    load = 42000 + 6000 * (hour * 6.2832 / 24).sin() + 2500 * (hour * 6.2832 / 168).cos() + 500 * torch.randn(1200)
    mean, spread = load.mean(), load.std()
    scaled = (load - mean) / spread
    inputs = torch.stack([scaled, (hour * 6.2832 / 24).cos()], 1)
    windows = inputs.unfold(0, 24, 1)[:-1].transpose(1, 2)
    target = (scaled if healthy else load)[24:]
    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    variance = target.var().item()
    losses = []
    with debug(model):
        for _ in range(300):
            rows = torch.randint(0, len(target), (32,))
            loss = F.mse_loss(model(windows[rows]), target[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item() / variance)
    return losses
