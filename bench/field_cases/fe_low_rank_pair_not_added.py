"""Low-rank pairs are registered and in the optimizer, and forward still calls the frozen weight alone. Repair: add the pair's product."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_low_rank_pair_not_added",
    source='widely reported: LoRA weights that stay at their start, the wrapped forward was not replaced',
    cause="unused_parameters",
    also=[],
    layer=["first.a", "first.b", "first", "second", "second.a", "second.b"],
    onset=(0, 0),
    symptom='slow',
)


class Adapted(nn.Module):
    def __init__(self, healthy):
        super().__init__()
        self.base = nn.Linear(24, 24).requires_grad_(False)
        self.a = nn.Parameter(torch.randn(12, 24) / 5)
        self.b = nn.Parameter(torch.zeros(24, 12))
        self.healthy = healthy

    def forward(self, x):
        y = self.base(x)
        return y + x @ self.a.T @ self.b.T if self.healthy else y


class Net(nn.Module):
    def __init__(self, healthy):
        super().__init__()
        self.first, self.second = Adapted(healthy), Adapted(healthy)
        self.head = nn.Linear(24, 2)

    def forward(self, x):
        return self.head(torch.tanh(self.second(torch.tanh(self.first(x)))))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Net(healthy)
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=5e-3)
    scale = torch.full((24,), 0.3)
    scale[:2] = 2.0
    losses = []
    with debug(model):
        for _ in range(500):
            x = torch.randn(128, 24) * scale
            y = (x[:, 0] * x[:, 1] > 0).long()
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
