"""A learnt field is rolled out over 40 Euler steps from its own states; a bad one makes the gradient leap. Repair: clip at 0.2."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_rollout_of_a_pendulum_unclipped",
    source='widely reported: backpropagation through a long rollout without clipping',
    cause="missing_gradient_clipping",
    also=['learning_rate_too_high', 'exploding_depth'],
    layer=["field", "", "field.0", "field.2"],
    onset=(0, 15),
    symptom='divergence',
)


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.field = nn.Sequential(nn.Linear(2, 32), nn.Softplus(), nn.Linear(32, 2))

    def forward(self, s, n):
        path = []
        for _ in range(n):
            s = s + 0.1 * (self.field(s) - 0.3 * s)
            path.append(s)
        return torch.stack(path, 1)


def true_path(s, n):
    path = []
    for _ in range(n):
        s = s + 0.1 * torch.stack([s[:, 1], -2 * torch.sin(s[:, 0]) - 0.1 * s[:, 1]], 1)
        path.append(s)
    return torch.stack(path, 1)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Field()
    opt = torch.optim.SGD(model.parameters(), lr=0.07, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(250):
            s = 0.6 * torch.randn(16, 2)
            loss = F.mse_loss(model(s, 40), true_path(s, 40))
            opt.zero_grad()
            loss.backward()
            if healthy:
                nn.utils.clip_grad_norm_(model.parameters(), 0.2)
            opt.step()
            losses.append(loss.item())
    return losses
