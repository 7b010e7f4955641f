"""A recurrent net tells where the pen goes next and how sure it is. Where it has become sure, one lift of the pen
gives a gradient hundreds of times the usual, which carries the weights away; it recovers or it doesn't. Repair:
clip."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fd_pen_without_clipping",
    source="widely reported: handwriting and sketch models with a Gaussian output need gradient clipping",
    cause="missing_gradient_clipping",
    also=[],
    layer=None,
    onset=(20, 330),
    symptom="loss_spike",
)


class Pen(nn.Module):
    def __init__(self, hidden: int = 32) -> None:
        super().__init__()
        self.lstm = nn.LSTM(2, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 4)

    def forward(self, moves: Tensor) -> tuple[Tensor, Tensor]:
        mean, log_variance = self.out(self.lstm(moves)[0]).chunk(2, 2)
        return mean, log_variance


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Pen()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(400):
            pace = 0.3 + 0.2 * torch.rand(16, 1)
            angle = torch.cumsum(pace.expand(16, 26), 1) + 6.28 * torch.rand(16, 1)
            stroke = torch.stack([angle.cos(), angle.sin()], 2) + 0.03 * torch.randn(16, 26, 2)
            lift = (torch.rand(16, 26, 1) < 0.0015).float()
            moves = stroke + 3.0 * lift * torch.randn(16, 26, 2)
            mean, log_variance = model(moves[:, :-1])
            loss = 0.5 * ((moves[:, 1:] - mean).square() * (-log_variance).exp() + log_variance).mean()
            optimizer.zero_grad()
            loss.backward()
            if healthy:
                nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            losses.append(loss.item())
    return losses
