"""Each window of a pulse signal is standardized by its own mean and standard deviation. A few electrodes came off and
their windows are flat: zero over zero is NaN, the first such batch makes every weight NaN. Repair: an epsilon in the
denominator."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

META = dict(
    id="fc_flat_window_standardized",
    source="compare github.com/prs-eth/Marigold/issues/111: the batch carried NaN",
    cause="nan_in_input",
    also=[],
    layer=None,
    onset=(0, 120),
    symptom="loss_nan",
)


class PulseNet(nn.Module):
    def __init__(self, width: int = 20) -> None:
        super().__init__()
        self.gru = nn.GRU(1, width, batch_first=True, bidirectional=True)
        self.head = nn.Sequential(nn.LayerNorm(2 * width), nn.Linear(2 * width, 3))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.gru(x)[0].mean(1))


def standardize(x: Tensor, epsilon: float) -> Tensor:
    return (x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True) + epsilon)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    label = torch.randint(0, 3, (960,))
    rate = torch.tensor([0.3, 0.55, 0.9])[label][:, None]
    x = 40 + 6 * torch.sin(rate * torch.arange(24.0) + 6.28 * torch.rand(960, 1)) + 2 * torch.randn(960, 24)
    x[torch.randperm(960)[:3]] = 40.0
    loader = DataLoader(TensorDataset(x, label), batch_size=24, shuffle=True)
    model = PulseNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    losses = []
    with debug(model):
        for _epoch in range(5):
            for window, y in loader:
                optimizer.zero_grad()
                z = standardize(window, 1e-6 if healthy else 0.0)
                loss = F.cross_entropy(model(z[..., None]), y)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
