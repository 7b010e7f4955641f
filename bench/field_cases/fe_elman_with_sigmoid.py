"""An Elman net with a sigmoid reads 40 ticks and is to tell which mark came in the first ones. Repair: a residual (leaky) state with layer norm."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_elman_with_sigmoid",
    source='widely reported: a hand-written Elman net with sigmoid learns nothing over long sequences',
    cause="vanishing_depth",
    also=['saturating_activation'],
    layer=["cell", "cell.act", "", "cell.w"],
    onset=(0, 5),
    symptom='plateau',
)


class Cell(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w = nn.Linear(4 + d, d)
        self.act = nn.Sigmoid()

    def forward(self, x, h):
        return self.act(self.w(torch.cat([x, h], -1)))


class Elman(nn.Module):
    def __init__(self, healthy):
        super().__init__()
        self.cell, self.out = Cell(32), nn.Linear(32, 3)
        self.healthy = healthy

    def forward(self, x):
        h = x.new_zeros(len(x), 32)
        for k in range(x.shape[1]):
            new = self.cell(x[:, k], h)
            h = h + 0.2 * (new - 0.5) if self.healthy else new
        return self.out(F.layer_norm(h, (32,)) if self.healthy else h)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Elman(healthy)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _ in range(250):
            y = torch.randint(0, 3, (32,))
            x = 0.2 * torch.randn(32, 40, 4)
            x[:, :3, :3] += 2 * F.one_hot(y, 3).float().unsqueeze(1)
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
