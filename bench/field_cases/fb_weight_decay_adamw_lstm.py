"""AdamW with weight_decay=20, a value found by a search over "1e-4 to 1e2" on a coarse grid, for an LSTM that reads
sensor sequences. With decoupled decay the weights lose a fifth of themselves each step; the loss goes to that of a
constant guess. Repair: 0.01."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_weight_decay_adamw_lstm",
    source="a public report",
    cause="excessive_weight_decay",
    also=[],
    layer=None,
    onset=(0, 40),
    symptom="loss_plateau",
)


class SensorLstm(nn.Module):
    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.lstm = nn.LSTM(3, width, num_layers=1, batch_first=True)
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4))

    def forward(self, x: Tensor) -> Tensor:
        states, _ = self.lstm(x)
        return self.head(states[:, -1])


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = SensorLstm()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=1e-2 if healthy else 20.0)
    losses = []
    with debug(model):
        for _ in range(250):
            label = torch.randint(0, 4, (32,))
            time = torch.arange(14.0).view(1, 14, 1)
            rate = (0.3 + 0.3 * label.float()).view(-1, 1, 1)
            x = torch.sin(rate * time + 6.28 * torch.rand(32, 1, 3)) + 0.1 * torch.randn(32, 14, 3)
            loss = F.cross_entropy(model(x), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
