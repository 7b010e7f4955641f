"""A recurrent forecaster of air pressure reads standardized inputs and has targets in pascal, about 101325 give or take
a thousand. The loss starts at ten billion and each step moves the output by a few hundredths: the run ends where it
began. Repair: standardize the targets. The losses are in units of the targets' variance in both forms."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_pressure_in_pascal",
    source="widely reported: regression targets in raw physical units",
    cause="unscaled_target",
    also=["learning_rate_too_low"],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class Barometer(nn.Module):
    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.lstm = nn.LSTM(2, width, batch_first=True)
        self.head = nn.Sequential(nn.Linear(width, width), nn.ELU(), nn.Linear(width, 1))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.lstm(x)[0][:, -1]).squeeze(-1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    day = torch.arange(2500.0)
    front = torch.zeros(2500)
    for t in range(1, 2500):
        front[t] = 0.95 * front[t - 1] + 0.3 * torch.randn(())
    pressure = 101325 + 900 * front + 400 * torch.sin(day / 9)
    wind = -0.8 * front + 0.4 * torch.randn(2500)
    mean, std = pressure.mean(), pressure.std()
    series = torch.stack([(pressure - mean) / std, wind / wind.std()], 1)
    target = (pressure - mean) / std if healthy else pressure
    variance = target.var().item()
    model = Barometer()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.MSELoss()
    losses = []
    with debug(model):
        for _ in range(350):
            start = torch.randint(0, 2480, (32,))
            window = torch.stack([series[s : s + 12] for s in start])
            loss = criterion(model(window), target[start + 13])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item() / variance)
    return losses
