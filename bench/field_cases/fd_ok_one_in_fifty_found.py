"""Healthy. One example in fifty is of the rare class, and it's easy to tell: the plain loss starts with the prior
and goes far below the entropy of the classes. The list is the loss averaged over the classes."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fd_ok_one_in_fifty_found",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    where = F.normalize(torch.randn(12), dim=0)
    model = nn.Sequential(nn.Linear(12, 32), nn.ELU(), nn.Linear(32, 32), nn.ELU(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    balanced = []
    with debug(model):
        for _ in range(450):
            rare = (torch.rand(128) < 0.02).long()
            x = torch.randn(128, 12) + 5.0 * rare.unsqueeze(1) * where
            logits = model(x)
            loss = F.cross_entropy(logits, rare)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            each = F.cross_entropy(logits.detach(), rare, reduction="none")
            if rare.any():
                balanced.append((each[rare == 1].mean() + each[rare == 0].mean()).item() / 2)
    return balanced
