"""Bayes by backprop: the batch's likelihood is multiplied by the 20000 rows and the rate stays. Repair: divide the whole by the rows; the list is the error."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_likelihood_times_data_set",
    source="widely reported: a Bayesian net's likelihood times the size of the data set under an unchanged rate",
    cause="loss_scale",
    also=['learning_rate_too_high'],
    layer=None,
    onset=(0, 10),
    symptom='divergence',
)


class Bayes(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.mu = nn.Parameter(torch.randn(o, i) / i**0.5)
        self.rho = nn.Parameter(torch.full((o, i), -4.0))
        self.bias = nn.Parameter(torch.zeros(o))

    def forward(self, x):
        s = F.softplus(self.rho)
        self.kl = (-s.log() + (s**2 + self.mu**2) / 2 - 0.5).sum()
        return F.linear(x, self.mu + s * torch.randn_like(s), self.bias)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    rows = 20000
    a, b = Bayes(4, 32), Bayes(32, 1)
    model = nn.Sequential(a, nn.Tanh(), b)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    errors = []
    with debug(model):
        for _ in range(300):
            x = torch.randn(64, 4)
            y = torch.sin(x[:, :1]) + 0.5 * x[:, 1:2] * x[:, 2:3]
            error = F.mse_loss(model(x), y)
            loss = rows * error + a.kl + b.kl
            if healthy:
                loss = loss / rows
            opt.zero_grad()
            loss.backward()
            opt.step()
            errors.append(error.item())
    return errors
