"""A GRU with an Euler-solved differential equation between ticks gets hx.detach() at each tick: nothing earlier is learned. Repair: no detach."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_hidden_state_detached_between_ticks",
    source='as in github.com/rtqichen/torchdiffeq/issues/79',
    cause="detached_graph",
    also=[],
    layer=["field", "field.0", "field.2", "cell", ""],
    onset=(0, 0),
    symptom='slow',
)


class OdeGru(nn.Module):
    def __init__(self, healthy):
        super().__init__()
        self.field = nn.Sequential(nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 24))
        self.cell = nn.GRUCell(3, 24)
        self.out = nn.Linear(24, 4)
        self.healthy = healthy

    def forward(self, x):
        h = x.new_zeros(len(x), 24)
        for k in range(x.shape[1]):
            for _ in range(2):
                h = h + 0.1 * self.field(h)
            h = self.cell(x[:, k], h if self.healthy else h.detach())
        return self.out(h)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = OdeGru(healthy)
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    with debug(model):
        for _ in range(350):
            x = torch.randn(32, 6, 3)
            y = (x[:, 0, 0] > 0).long() + 2 * (x[:, 1, 1] > 0).long()
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
