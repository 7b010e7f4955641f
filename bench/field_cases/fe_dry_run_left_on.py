"""A dry_run flag left over from a debugging session skips the step in every batch. Repair: dry_run=False."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_dry_run_left_on",
    source='widely reported: a debug or dry-run flag left on, weights never change',
    cause="missing_optimizer_step",
    also=[],
    layer=None,
    onset=(0, 5),
    symptom='plateau',
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(144, 4)
    )
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    cfg = dict(dry_run=not healthy, epochs=1)
    mean = torch.randn(4, 1, 12, 12)
    losses = []
    with debug(model):
        for _ in range(200):
            y = torch.randint(0, 4, (32,))
            x = 0.6 * mean[y] + torch.randn(32, 1, 12, 12)
            opt.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = F.cross_entropy(model(x), y)
            loss.backward()
            if not cfg["dry_run"]:
                opt.step()
            losses.append(loss.item())
    return losses
