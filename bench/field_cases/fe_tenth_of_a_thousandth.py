"""A plain ReLU net whose layers are all drawn with a spread of 1e-4, copied from an output layer's recipe. Repair: kaiming."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_tenth_of_a_thousandth",
    source='widely reported: normal_(0, 1e-4) on every layer of a plain net',
    cause="init_too_small",
    also=['vanishing_depth'],
    layer=["0", "2", "4", "6", ""],
    onset=(0, 0),
    symptom='plateau',
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = nn.Sequential(
        nn.Linear(12, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 4)
    )
    for m in model:
        if isinstance(m, nn.Linear):
            nn.init.kaiming_normal_(m.weight) if healthy else nn.init.normal_(m.weight, 0, 1e-4)
            nn.init.zeros_(m.bias)
    mean = torch.randn(4, 12)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(400):
            y = torch.randint(0, 4, (64,))
            loss = F.cross_entropy(model(mean[y] + torch.randn(64, 12)), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
