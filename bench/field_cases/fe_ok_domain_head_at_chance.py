"""Healthy. Domain-adversarial training with a gradient reversal: the domain head ends at ln 2 on purpose. The list is the task's loss."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_ok_domain_head_at_chance",
    source='a common practice',
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -0.3 * g


class Dann(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU())
        self.task, self.domain = nn.Linear(24, 4), nn.Sequential(nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, x):
        h = self.body(x)
        return self.task(h), self.domain(Reverse.apply(h)).squeeze(1)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    mean, shift = torch.randn(4, 12), 0.7 * torch.randn(12)
    model = Dann()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    losses = []
    with debug(model):
        for _ in range(350):
            y, d = torch.randint(0, 4, (64,)), torch.randint(0, 2, (64,)).float()
            task, domain = model(mean[y] + 0.6 * torch.randn(64, 12) + d[:, None] * shift)
            task_loss = F.cross_entropy(task, y)
            loss = task_loss + F.binary_cross_entropy_with_logits(domain, d)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(task_loss.item())
    return losses
