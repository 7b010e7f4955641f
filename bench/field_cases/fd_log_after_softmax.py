"""Knowledge distillation by hand: torch.log(torch.softmax(...)) of the student's scores at a low temperature. A sure
student gives a probability of exactly zero, whose logarithm is minus infinity. Repair: log_softmax."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_log_after_softmax",
    source="widely reported: log of softmax instead of log_softmax",
    cause="loss_domain",
    also=[],
    layer=None,
    onset=(0, 250),
    symptom="loss_nan",
)


class Student(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 6))

    def forward(self, x: Tensor) -> Tensor:
        return self.net(x)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    teacher = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 6)).requires_grad_(False)
    for parameter in teacher.parameters():
        parameter.mul_(3.0)
    student = Student()
    optimizer = torch.optim.Adam(student.parameters(), lr=6e-3)
    temperature = 0.015
    losses = []
    with debug(student):
        for _ in range(350):
            x = torch.randn(48, 10)
            wanted = (teacher(x) / temperature / 4).softmax(1)
            scores = student(x) / temperature
            said = F.log_softmax(scores, 1) if healthy else torch.log(torch.softmax(scores, 1))
            loss = -(wanted * said).sum(1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
