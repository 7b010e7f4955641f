"""Gradients are accumulated over sixteen micro-batches so that the step should be that of one large batch, and the
loss isn't divided by sixteen. The step is sixteen times as large. Repair: divide."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_accumulation_not_divided",
    source="as in github.com/hirofumi0810/neural_sp/issues/168",
    cause="loss_scale",
    also=["learning_rate_too_high"],
    layer=None,
    onset=(0, 60),
    symptom="divergence",
)


class Recognizer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.sub = nn.Conv1d(10, 24, 5, stride=2, padding=2)
        self.mix = nn.Conv1d(24, 24, 5, padding=2)
        self.out = nn.Linear(24, 5)

    def forward(self, frames: Tensor) -> Tensor:
        h = F.relu(self.sub(frames))
        h = h + F.relu(self.mix(h))
        return self.out(h.mean(2))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    sound = 0.6 * torch.randn(5, 10, 1)
    model = Recognizer()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.15, momentum=0.9)
    accumulate = 16
    losses = []
    with debug(model):
        for i in range(480):
            label = torch.randint(0, 5, (8,))
            loss = F.cross_entropy(model(sound[label] + torch.randn(8, 10, 20)), label)
            (loss / accumulate if healthy else loss).backward()
            if (i + 1) % accumulate == 0:
                optimizer.step()
                optimizer.zero_grad()
            losses.append(loss.item())
    return losses
