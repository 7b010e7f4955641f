"""A critic's forward loops over its modules and calls those that are Linear, so that the activations are skipped. Repair: call all."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_only_linears_are_called",
    source='widely reported: a forward that loops over the Linear modules and skips the activations',
    cause="missing_nonlinearity",
    also=[],
    layer=["layers", "layers.0", "layers.2", "layers.4", ""],
    onset=(0, 5),
    symptom='plateau',
)


class QNet(nn.Module):
    def __init__(self, healthy):
        super().__init__()
        self.layers = nn.ModuleList(
            [nn.Linear(3, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2)]
        )
        self.healthy = healthy

    def forward(self, x):
        for layer in self.layers:
            if self.healthy or isinstance(layer, nn.Linear):
                x = layer(x)
        return x


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    q = QNet(healthy)
    opt = torch.optim.Adam(q.parameters(), lr=3e-3)
    losses = []
    with debug(q):
        for _ in range(400):
            s = 2 * torch.rand(64, 3) - 1
            a = torch.randint(0, 2, (64,))
            reward = torch.where(a == 1, s[:, 0] * s[:, 1] * 4, s[:, 2].abs() * 2 - 1)
            value = q(s).gather(1, a[:, None]).squeeze(1)
            loss = F.smooth_l1_loss(value, reward)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
