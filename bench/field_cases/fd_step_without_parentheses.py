"""A trainer class in which the step was written without its parentheses: `self.optimizer.step` is a name and no
call. The forecast of two coupled series never changes. Repair: call it."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_step_without_parentheses",
    source="widely reported: optimizer.step without parentheses",
    cause="missing_optimizer_step",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class Trainer:
    def __init__(self, model: nn.Module, called: bool) -> None:
        self.model, self.called = model, called
        self.optimizer = torch.optim.NAdam(model.parameters(), lr=2e-3)

    def training_step(self, window: Tensor, after: Tensor) -> Tensor:
        self.optimizer.zero_grad()
        loss = F.l1_loss(self.model(window), after)
        loss.backward()
        if self.called:
            self.optimizer.step()
        else:
            self.optimizer.step  # noqa: B018
        return loss.detach()


class Decomposed(nn.Module):
    """A smooth part and a rest, each with a linear layer over time, and a small net for what is left."""

    def __init__(self, length: int = 24, ahead: int = 4) -> None:
        super().__init__()
        self.trend, self.rest = nn.Linear(length, ahead), nn.Linear(length, ahead)
        self.more = nn.Sequential(nn.Linear(2 * length, 32), nn.ReLU(), nn.Linear(32, 2 * ahead))
        self.ahead = ahead

    def forward(self, window: Tensor) -> Tensor:
        smooth = F.avg_pool1d(window, 5, stride=1, padding=2)
        guess = self.trend(smooth) + self.rest(window - smooth)
        return guess + self.more(window.flatten(1)).view(-1, 2, self.ahead)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    time = torch.arange(900.0)
    series = torch.stack([(time / 7).sin() + (time / 50).cos(), (time / 11).cos() * (time / 40).sin()])
    series = series + 0.1 * torch.randn(2, 900)
    windows = series.unfold(1, 28, 1).transpose(0, 1)
    model = Decomposed()
    trainer = Trainer(model, healthy)
    losses = []
    with debug(model):
        for _ in range(300):
            rows = torch.randint(0, len(windows), (32,))
            losses.append(trainer.training_step(windows[rows, :, :24], windows[rows, :, 24:]).item())
    return losses
