"""A GRU forecaster learns the noise of one record of 50 windows. Repair: 3000 windows. The list is the validation loss."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_forecaster_of_one_short_record",
    source='widely reported: a recurrent forecaster on one short record, validation loss rises',
    cause="overfitting",
    also=[],
    layer=None,
    onset=(40, 300),
    symptom='overfitting',
)


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(1, 64, batch_first=True)
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        return self.out(self.gru(x)[0][:, -1])


def windows(n):
    t = torch.arange(13) * 0.5
    w = torch.sin(t + 6.28 * torch.rand(n, 1)) + 0.6 * torch.randn(n, 13)
    return w[:, :12, None], w[:, 12:]


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    n = 3000 if healthy else 40
    x, y = windows(n)
    xv, yv = windows(300)
    model = Forecast()
    opt = torch.optim.Adam(model.parameters(), lr=8e-3)
    losses = []
    with debug(model):
        for epoch in range(60):
            model.train()
            for _ in range(10):
                i = torch.randperm(n)[:40]
                loss = F.mse_loss(model(x[i]), y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
            model.eval()
            with torch.no_grad():
                losses.append(F.mse_loss(model(xv), yv).item())
    return losses
