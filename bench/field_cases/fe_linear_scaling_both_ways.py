"""The rate is scaled by batch/256 once more by the number of accumulated micro-batches and by that of the twenty workers: 0.1 becomes 1e-5. Repair: scale neither here."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_linear_scaling_both_ways",
    source='widely reported: the linear scaling rule applied to a small batch and again per accumulation step',
    cause="learning_rate_too_low",
    also=[],
    layer=None,
    onset=(0, 5),
    symptom='slow',
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    micro, batch, workers = 8, 4, 20
    rate = 0.1
    if not healthy:
        rate = rate * batch / 256 / micro / workers
    model = nn.Sequential(
        nn.Conv1d(3, 16, 5, padding=2), nn.GroupNorm(4, 16), nn.ReLU(), nn.Conv1d(16, 16, 5, 2, 2), nn.GroupNorm(4, 16),
        nn.ReLU(), nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(64, 5),
    )
    opt = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9, nesterov=True)
    shape = torch.randn(5, 3, 24)
    losses = []
    with debug(model):
        for _ in range(100):
            opt.zero_grad()
            total = 0.0
            for _ in range(micro):
                y = torch.randint(0, 5, (batch,))
                loss = F.cross_entropy(model(shape[y] + torch.randn(batch, 3, 24)), y) / micro
                loss.backward()
                total += loss.item()
            opt.step()
            losses.append(total)
    return losses
