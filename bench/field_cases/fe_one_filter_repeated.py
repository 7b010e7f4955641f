"""Each layer's weights are one drawn row, repeated for all units, "the same prior for each": all units stay equal. Repair: draw each."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_one_filter_repeated",
    source='widely reported: weights made by repeating one row or filter',
    cause="symmetric_init",
    also=[],
    layer=["conv1", "conv2", "fc1"],
    onset=(0, 0),
    symptom='plateau',
)


class Net(nn.Module):
    def __init__(self, healthy):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 12, 3, 2, 1), nn.Conv2d(12, 12, 3, 2, 1)
        self.fc1, self.fc2 = nn.Linear(108, 24), nn.Linear(24, 6)
        if not healthy:
            with torch.no_grad():
                for m in (self.conv1, self.conv2, self.fc1):
                    m.weight.copy_(m.weight[:1].expand_as(m.weight).clone())
                    m.bias.zero_()
                self.fc2.weight.copy_(self.fc2.weight[:, :1].expand_as(self.fc2.weight).clone())

    def forward(self, x):
        h = F.leaky_relu(self.conv2(F.leaky_relu(self.conv1(x))))
        return self.fc2(F.leaky_relu(self.fc1(h.flatten(1))))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Net(healthy)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    mean = torch.randn(6, 1, 12, 12)
    losses = []
    with debug(model):
        for _ in range(250):
            y = torch.randint(0, 6, (32,))
            loss = F.cross_entropy(model(0.7 * mean[y] + torch.randn(32, 1, 12, 12)), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
