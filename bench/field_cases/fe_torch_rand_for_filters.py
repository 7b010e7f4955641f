"""Hand-written convolution weights come from torch.rand: all positive, half a unit on average, and sums grow a hundredfold per layer. Repair: kaiming."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_torch_rand_for_filters",
    source='widely reported: torch.rand for weights, all positive and up to one',
    cause="init_too_large",
    also=['exploding_depth'],
    layer=["first", "second", "third", ""],
    onset=(0, 0),
    symptom='divergence',
)


class Conv(nn.Module):
    def __init__(self, i, o, healthy):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(o, i, 3, 3))
        if healthy:
            nn.init.kaiming_normal_(self.weight)
        self.bias = nn.Parameter(torch.zeros(o))

    def forward(self, x):
        return F.conv2d(x, self.weight, self.bias, padding=1)


class Net(nn.Module):
    def __init__(self, healthy):
        super().__init__()
        self.first, self.second, self.third = Conv(1, 12, healthy), Conv(12, 12, healthy), Conv(12, 1, healthy)

    def forward(self, x):
        return self.third(F.relu(self.second(F.relu(self.first(x)))))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Net(healthy)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    losses = []
    with debug(model):
        for _ in range(200):
            clean = F.avg_pool2d(torch.randn(8, 1, 14, 14), 5, 1, 2) * 4
            loss = F.mse_loss(model(clean + 0.4 * torch.randn_like(clean)), clean)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
