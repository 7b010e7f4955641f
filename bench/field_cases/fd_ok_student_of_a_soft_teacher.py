"""Healthy. Distillation at a high temperature: the loss is tiny and its gradients with it, multiplied by the square
of the temperature as usual; the student comes to agree with its teacher. The list is the share of disagreement."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fd_ok_student_of_a_soft_teacher",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    teacher = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 5)).requires_grad_(False).eval()
    student = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 5))
    optimizer = torch.optim.Adam(student.parameters(), lr=5e-3)
    heat = 8.0
    disagree = []
    with debug(student):
        for _ in range(400):
            x = 2 * torch.randn(64, 10)
            with torch.no_grad():
                wanted = F.log_softmax(teacher(x) / heat, 1)
            scores = student(x)
            loss = F.kl_div(F.log_softmax(scores / heat, 1), wanted, reduction="batchmean", log_target=True) * heat**2
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            disagree.append((scores.argmax(1) != wanted.argmax(1)).float().mean().item())
    return disagree
