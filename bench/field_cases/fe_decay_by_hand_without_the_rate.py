"""A hand-written optimizer with decoupled decay forgets to multiply the decay by the rate: every step takes five percent. Repair: multiply."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_decay_by_hand_without_the_rate",
    source="widely reported: a decoupled decay that isn't multiplied by the rate",
    cause="excessive_weight_decay",
    also=[],
    layer=None,
    onset=(0, 40),
    symptom='plateau',
)


class AdamByHand:
    def __init__(self, params, rate, decay, coupled):
        self.params, self.rate, self.decay, self.coupled, self.t = list(params), rate, decay, coupled, 0
        self.m = [torch.zeros_like(p) for p in self.params]
        self.v = [torch.zeros_like(p) for p in self.params]

    def zero_grad(self):
        for p in self.params:
            p.grad = None

    @torch.no_grad()
    def step(self):
        self.t += 1
        for p, m, v in zip(self.params, self.m, self.v):
            m.lerp_(p.grad, 0.1)
            v.lerp_(p.grad**2, 0.01)
            p.mul_(1 - self.decay * (self.rate if self.coupled else 1.0))
            p.sub_(self.rate * (m / (1 - 0.9**self.t)) / ((v / (1 - 0.99**self.t)).sqrt() + 1e-8))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(10, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 4))
    opt = AdamByHand(model.parameters(), 2e-3, 0.1, healthy)
    mean = torch.randn(4, 2, 10)
    losses = []
    with debug(model):
        for _ in range(300):
            y = torch.randint(0, 4, (48,))
            x = mean[y, torch.randint(0, 2, (48,))] + 0.5 * torch.randn(48, 10)
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
