"""Distillation of a teacher into a small tagger under float16 autocast. The divergence of two softened distributions is
averaged over batch, time and classes, and nobody scales the loss: the gradient of one logit is smaller than the
smallest float16, and it is zero when it enters the network. Repair: GradScaler."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_half_underflow_distillation",
    source="a public report",
    cause="half_precision_underflow",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)
TAGS = 24


class Student(nn.Module):
    def __init__(self, words: int = 40, width: int = 24) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.mix = nn.Linear(2 * width, 48)
        self.tag = nn.Linear(48, TAGS)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        return self.tag(F.gelu(self.mix(torch.cat([x, x.roll(1, dims=1)], dim=2))))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    now, before = 4 * torch.randn(40, TAGS), 2 * torch.randn(40, TAGS)
    student = Student()
    optimizer = torch.optim.RMSprop(student.parameters(), lr=2e-3)
    scaler = torch.amp.GradScaler("cpu", enabled=healthy)
    temperature = 30.0
    losses = []
    with debug(student):
        for _ in range(200):
            ids = torch.randint(0, 40, (32, 24))
            teacher = now[ids] + before[ids.roll(1, dims=1)]
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cpu", dtype=torch.float16):
                logits = student(ids)
            logp, q = F.log_softmax(logits.float() / temperature, dim=-1), F.softmax(teacher / temperature, dim=-1)
            loss = F.kl_div(logp, q, reduction="none").mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
    return losses
