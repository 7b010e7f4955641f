"""A probabilistic forecaster steps down on Normal(mu, sigma).log_prob(y).mean(), which lacks the minus. Repair: the minus."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_log_likelihood_descends",
    source='widely reported: log_prob(...).mean() as the loss of a probabilistic forecaster',
    cause="loss_sign",
    also=[],
    layer=None,
    onset=(0, 30),
    symptom='divergence',
)


class Prob(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(1, 24, batch_first=True)
        self.out = nn.Linear(24, 2)

    def forward(self, x):
        mu, raw = self.out(self.gru(x)[0][:, -1]).unbind(-1)
        return torch.distributions.Normal(mu, F.softplus(raw) + 0.05)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Prob()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    t = torch.arange(13) * 0.5
    losses = []
    with debug(model):
        for _ in range(250):
            w = torch.sin(t + 6.28 * torch.rand(32, 1)) + 0.1 * torch.randn(32, 13)
            likelihood = model(w[:, :12, None]).log_prob(w[:, 12]).mean()
            loss = -likelihood if healthy else likelihood
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(-likelihood.item())
    return losses
