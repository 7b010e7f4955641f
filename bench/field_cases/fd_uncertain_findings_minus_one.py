"""Chest findings with three values in the table: present 1, absent 0, uncertain -1. The -1 goes into the binary
cross-entropy as a target, which then has no lower bound: the logits run away and the loss becomes negative. Repair:
leave the uncertain ones out. The returned list is the loss over the certain ones."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_uncertain_findings_minus_one",
    source="widely reported: multi-label targets with -1 under BCEWithLogitsLoss, the loss is negative",
    cause="invalid_target",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="divergence",
)


class Findings(nn.Module):
    def __init__(self, labels: int = 5) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, 12, 3, stride=2, padding=1)
        self.depthwise = nn.Conv2d(12, 12, 3, padding=1, groups=12)
        self.pointwise = nn.Conv2d(12, 24, 1)
        self.heads = nn.ModuleList([nn.Linear(24, 1) for _ in range(labels)])

    def forward(self, scan: Tensor) -> Tensor:
        h = F.silu(self.stem(scan))
        h = F.silu(self.pointwise(self.depthwise(h)))
        h = h.amax((2, 3))
        return torch.cat([head(h) for head in self.heads], 1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    shadow = torch.randn(5, 14, 14) * 0.8
    present = (torch.rand(600, 5) < 0.4).float()
    scan = torch.einsum("nl,lhw->nhw", present, shadow).unsqueeze(1) + 0.5 * torch.randn(600, 1, 14, 14)
    table = torch.where(torch.rand(600, 5) < 0.35, -1.0, present)
    model = Findings()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    certain_loss = []
    with debug(model):
        for _epoch in range(12):
            for rows in torch.randperm(600).split(24):
                logits, target = model(scan[rows]), table[rows]
                certain = target >= 0
                if healthy:
                    loss = F.binary_cross_entropy_with_logits(logits[certain], target[certain])
                else:
                    loss = F.binary_cross_entropy_with_logits(logits, target)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                with torch.no_grad():
                    certain_loss.append(F.binary_cross_entropy_with_logits(logits[certain], target[certain]).item())
    return certain_loss
