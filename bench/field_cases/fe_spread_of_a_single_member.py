"""A metric loss takes the standard deviation within each class; a class with one member in the batch gives NaN. Repair: unbiased=False with an epsilon."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_spread_of_a_single_member",
    source='widely reported: torch.std of one element is NaN',
    cause="loss_domain",
    also=[],
    layer=None,
    onset=(0, 60),
    symptom='loss_nan',
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    mean = torch.randn(6, 16)
    prior = torch.tensor([0.23, 0.23, 0.22, 0.22, 0.05, 0.05])
    net = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 8))
    proxies = nn.Linear(8, 6)
    model = nn.ModuleDict(dict(net=net, proxies=proxies))
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _ in range(250):
            y = torch.multinomial(prior, 96, replacement=True)
            z = net(mean[y] + 0.7 * torch.randn(96, 16))
            spread = []
            for k in y.unique():
                own = z[y == k]
                spread.append((own.var(0, unbiased=False) + 1e-6).sqrt().mean() if healthy else own.std(0).mean())
            loss = F.cross_entropy(proxies(z), y) + 0.1 * torch.stack(spread).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
