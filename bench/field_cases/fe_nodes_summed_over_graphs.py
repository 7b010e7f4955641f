"""A node classifier sums the loss over all nodes of a batch of graphs under a rate meant for the mean. Repair: mean. The list is per node."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_nodes_summed_over_graphs",
    source='widely reported: the sum over nodes of a batched graph as the loss, at the rate of a mean',
    cause="loss_scale",
    also=['learning_rate_too_high'],
    layer=None,
    onset=(0, 20),
    symptom='divergence',
)


class Gnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 32), nn.Linear(64, 4)

    def forward(self, x, adj):
        h = torch.tanh(self.a(x))
        return self.b(torch.cat([h, adj @ h], -1))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    mean = torch.randn(4, 8)
    model = Gnn()
    opt = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(250):
            n = int(torch.randint(10, 40, ()))
            y = torch.randint(0, 4, (16, n))
            x = 0.7 * mean[y] + torch.randn(16, n, 8)
            adj = ((y[:, :, None] == y[:, None]) & (torch.rand(16, n, n) < 0.3)).float()
            adj = adj / adj.sum(-1, keepdim=True).clamp(min=1)
            loss = F.cross_entropy(model(x, adj).flatten(0, 1), y.flatten(), reduction="mean" if healthy else "sum")
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item() / (1 if healthy else y.numel()))
    return losses
