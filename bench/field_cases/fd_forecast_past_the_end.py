"""The target column of a forecast is the series shifted up by twelve steps, so that its last twelve rows hold NaN.
The windows are shuffled, and the first batch that draws one of them ruins a temporal convolution net. Repair: drop
the rows without a future."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_forecast_past_the_end",
    source="widely reported: a shifted target column leaves NaN in the last rows",
    cause="invalid_target",
    also=[],
    layer=None,
    onset=(0, 50),
    symptom="loss_nan",
)


class CausalConv(nn.Module):
    def __init__(self, inside: int, outside: int, dilation: int) -> None:
        super().__init__()
        self.pad = 2 * dilation
        self.conv = nn.Conv1d(inside, outside, 3, dilation=dilation)

    def forward(self, x: Tensor) -> Tensor:
        return F.elu(self.conv(F.pad(x, (self.pad, 0))))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    time = torch.arange(1500.0)
    series = (time / 9).sin() + 0.5 * (time / 31).cos() + 0.1 * torch.randn(1500)
    future = torch.full_like(series, torch.nan)
    future[:-12] = series[12:]
    windows = series.unfold(0, 32, 1)
    target = future[31:]
    if healthy:
        windows, target = windows[:-12], target[:-12]
    model = nn.Sequential(
        CausalConv(1, 16, 1), CausalConv(16, 16, 2), CausalConv(16, 16, 4), nn.Flatten(), nn.Linear(16 * 32, 1)
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    losses = []
    with debug(model):
        for _epoch in range(5):
            for rows in torch.randperm(len(target)).split(32):
                guess = model(windows[rows].unsqueeze(1)).squeeze(1)
                loss = F.smooth_l1_loss(guess, target[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
