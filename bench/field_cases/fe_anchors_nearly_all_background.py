"""A detection head over 36 cells of which one in ninety holds a (faint) object, with plain cross entropy. Repair: weights; the list holds the balanced error."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_anchors_nearly_all_background",
    source='widely reported: a detector without hard negative mining answers background at every anchor',
    cause="class_imbalance",
    also=[],
    layer=None,
    onset=(0, 80),
    symptom='plateau',
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 2, 1)
    )
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    weight = torch.tensor([1.0, 89.0]) if healthy else None
    blob = torch.tensor([[0.5, 1.0, 0.5], [1.0, 1.5, 1.0], [0.5, 1.0, 0.5]])
    errors = []
    with debug(model):
        for _ in range(300):
            y = (torch.rand(16, 6, 6) < 1 / 90).long()
            x = F.conv2d(y[:, None].float(), blob[None, None], padding=1) * 0.9 + torch.randn(16, 1, 6, 6)
            out = model(x)
            loss = F.cross_entropy(out, y, weight=weight)
            opt.zero_grad()
            loss.backward()
            opt.step()
            guess = out.argmax(1)
            miss = [(guess[y == k] != k).float().mean().item() for k in (0, 1) if (y == k).any()]
            errors.append(sum(miss) / len(miss) if len(miss) == 2 else errors[-1] if errors else 0.5)
    return errors
