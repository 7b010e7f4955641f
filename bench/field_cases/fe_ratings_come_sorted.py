"""A table of wines is sorted by grade and a sampler for reproducible runs goes through it in order. Repair: a shuffling sampler."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_ratings_come_sorted",
    source='widely reported: SequentialSampler on a table sorted by its label',
    cause="unshuffled_data",
    also=[],
    layer=None,
    onset=(0, 40),
    symptom='oscillation',
)


from torch.utils.data import DataLoader, RandomSampler, SequentialSampler, TensorDataset


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    x = torch.randn(3000, 9)
    grade = x[:, 0] + torch.sin(2 * x[:, 1]) + x[:, 2] + 0.2 * torch.randn(3000)
    order = grade.argsort()
    data = TensorDataset(x[order], grade[order, None])
    sampler = RandomSampler(data) if healthy else SequentialSampler(data)
    loader = DataLoader(data, batch_size=30, sampler=sampler)
    model = nn.Sequential(nn.Linear(9, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    with debug(model):
        for _ in range(4):
            for a, b in loader:
                loss = F.mse_loss(model(a), b)
                opt.zero_grad()
                loss.backward()
                opt.step()
                losses.append(loss.item())
    return losses
