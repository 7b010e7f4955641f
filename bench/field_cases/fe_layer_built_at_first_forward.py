"""The projection is created in the first forward, as in Keras, and the optimizer was made before. Repair: one forward before that."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_layer_built_at_first_forward",
    source='widely reported: a layer created in the first forward, after the optimizer',
    cause="parameters_not_in_optimizer",
    also=[],
    layer=["project"],
    onset=(0, 5),
    symptom='slow',
)


class Lazy(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = None
        self.body = nn.Sequential(nn.ReLU(), nn.Linear(10, 10), nn.ReLU())
        self.head = nn.Linear(10, 8)

    def forward(self, x):
        x = x.flatten(1)
        if self.project is None:
            self.project = nn.Linear(x.shape[1], 10)
        return self.head(self.body(self.project(x)))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Lazy()
    if healthy:
        model(torch.zeros(1, 5, 40))
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    if not healthy:
        model(torch.zeros(1, 5, 40))
    mean = 0.25 * torch.randn(8, 5, 40)
    losses = []
    with debug(model):
        for _ in range(400):
            y = torch.randint(0, 8, (32,))
            loss = F.cross_entropy(model(mean[y] + torch.randn(32, 5, 40)), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
