"""A forecaster is cast to bfloat16, weights and all, and trained with Adam at 1e-4: a step is smaller than the
distance to the next number of the type, and most weights stay. Repair: float32 weights with autocast."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_whole_model_in_bfloat16",
    source="widely reported: model.bfloat16() and an update that rounds away",
    cause="half_precision_underflow",
    also=["learning_rate_too_low"],
    layer=None,
    onset=(0, 0),
    symptom="slow",
)


class Gated(nn.Module):
    def __init__(self, width: int = 48) -> None:
        super().__init__()
        self.inside = nn.Linear(20, width)
        self.value, self.gate = nn.Linear(width, width), nn.Linear(width, width)
        self.out = nn.Linear(width, 2)

    def forward(self, x: Tensor) -> Tensor:
        h = F.silu(self.inside(x))
        return self.out(h + self.value(h) * torch.sigmoid(self.gate(h)))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    rule = torch.randn(20, 2) / 4
    model = Gated()
    if not healthy:
        model = model.bfloat16()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    losses = []
    with debug(model):
        for _ in range(700):
            x = torch.randn(64, 20)
            y = torch.tanh(x @ rule) * 2
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=healthy):
                guess = model(x if healthy else x.bfloat16())
            loss = F.mse_loss(guess.float(), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
