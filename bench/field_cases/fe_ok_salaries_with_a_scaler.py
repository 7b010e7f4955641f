"""Healthy. Salaries of some 50000; the model holds mean and spread as buffers and gives its answers in dollars, and the loss is taken in units of the spread."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_ok_salaries_with_a_scaler",
    source='a common practice',
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Salary(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(7, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))
        self.register_buffer("mean", mean)
        self.register_buffer("std", std)

    def forward(self, x):
        return self.net(x).squeeze(1) * self.std + self.mean


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    x = torch.randn(2000, 7)
    y = 52000 + 9000 * x[:, 0] + 6000 * x[:, 1] * x[:, 2] + 1500 * torch.randn(2000)
    model = Salary(y.mean(), y.std())
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    losses = []
    with debug(model):
        for _ in range(400):
            i = torch.randint(0, 2000, (64,))
            loss = F.mse_loss(model(x[i]) / model.std, y[i] / model.std)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
