"""Healthy. A student learns to predict what a teacher says of another view; the teacher is the moving average of the
student, has no gradient, is in no optimizer, and its weights are moved by hand under no_grad. The returned list is the
supervised part."""

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_ok_moving_average_teacher",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="none",
)


class Pair(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.student = nn.Sequential(nn.Linear(10, 48), nn.GELU(), nn.Linear(48, 4))
        self.teacher = copy.deepcopy(self.student).requires_grad_(False)

    @torch.no_grad()
    def follow(self, momentum: float) -> None:
        for ours, theirs in zip(self.teacher.parameters(), self.student.parameters()):
            ours.mul_(momentum).add_(theirs, alpha=1 - momentum)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        noisy = self.student(x + 0.1 * torch.randn_like(x))
        with torch.no_grad():
            target = self.teacher(x + 0.1 * torch.randn_like(x)).softmax(1)
        return noisy, target


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    x = torch.randn(1500, 10)
    y = (torch.tanh(x @ torch.randn(10, 8)) @ torch.randn(8, 4)).argmax(1)
    pair = Pair()
    optimizer = torch.optim.AdamW(pair.student.parameters(), lr=5e-3)
    losses = []
    with debug(pair):
        for step in range(300):
            rows = torch.randint(0, 1500, (48,))
            logits, target = pair(x[rows])
            known = slice(0, 32)
            supervised = nn.functional.cross_entropy(logits[known], y[rows][known])
            consistency = nn.functional.cross_entropy(logits, target)
            optimizer.zero_grad()
            (supervised + min(1.0, step / 150) * 0.3 * consistency).backward()
            optimizer.step()
            pair.follow(0.97)
            losses.append(supervised.item())
    return losses
