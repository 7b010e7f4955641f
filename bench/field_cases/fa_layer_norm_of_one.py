"""A series with one value per time step goes through LayerNorm(1) first. The normalization runs over that single value
and leaves zero everywhere, so that the encoder sees the same for every series. Repair: a projection before the
normalization."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_layer_norm_of_one",
    source="widely reported: layer or instance norm over a dimension of size one gives a constant",
    cause="constant_input",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class SeriesEncoder(nn.Module):
    def __init__(self, healthy: bool, width: int = 16) -> None:
        super().__init__()
        norm, project = nn.LayerNorm(width if healthy else 1), nn.Linear(1, width)
        self.stem = nn.Sequential(project, norm) if healthy else nn.Sequential(norm, project)
        self.place = nn.Parameter(0.3 * torch.randn(1, 20, width))
        self.layer = nn.TransformerEncoderLayer(width, 2, 32, dropout=0.0, batch_first=True, norm_first=True)
        self.head = nn.Linear(width, 1)

    def forward(self, series: Tensor) -> Tensor:
        return self.head(self.layer(self.stem(series) + self.place).mean(1)).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    slope = torch.randn(1024, 1)
    series = slope * torch.linspace(-1, 1, 20) + 0.2 * torch.randn(1024, 20)
    model = SeriesEncoder(healthy)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _step in range(220):
            rows = torch.randint(0, 1024, (32,))
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(series[rows].unsqueeze(2)), slope[rows, 0])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
