"""The mean absolute percentage error as a loss; now and then a shop sells nothing. Repair: a floor below the line."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_percentage_error_of_no_sales",
    source='widely reported: MAPE as a loss, days without any sale divide by zero',
    cause="loss_domain",
    also=['invalid_target'],
    layer=None,
    onset=(0, 80),
    symptom='loss_nan',
)


class Shop(nn.Module):
    def __init__(self):
        super().__init__()
        self.shop, self.day = nn.Embedding(20, 8), nn.Embedding(7, 8)
        self.net = nn.Sequential(nn.Linear(17, 48), nn.ReLU(), nn.Linear(48, 1), nn.Softplus())

    def forward(self, s, d, x):
        return self.net(torch.cat([self.shop(s), self.day(d), x], -1)).squeeze(-1)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    size, week = torch.rand(20) * 2 + 0.5, torch.rand(7) * 0.6 + 0.7
    model = Shop()
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    losses = []
    with debug(model):
        for _ in range(300):
            s, d, x = torch.randint(0, 20, (32,)), torch.randint(0, 7, (32,)), torch.rand(32, 1)
            sales = size[s] * week[d] * (0.5 + x[:, 0])
            closed = torch.rand(32) < 0.001
            sales = torch.where(closed, torch.zeros(()), sales)
            miss = (model(s, d, x) - sales).abs()
            loss = (miss / sales.clamp(min=0.3)).mean() if healthy else (miss / sales).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
