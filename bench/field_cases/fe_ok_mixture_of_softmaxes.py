"""Healthy. A mixture of three softmaxes: probabilities are mixed, then their logarithm goes into nll_loss, as it should."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_ok_mixture_of_softmaxes",
    source='a common practice',
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(15, 24)
        self.gru = nn.GRU(24, 40, batch_first=True)
        self.weights, self.heads = nn.Linear(40, 3), nn.Linear(40, 3 * 15)

    def forward(self, x):
        h = self.gru(self.embed(x))[0]
        p = self.heads(h).unflatten(-1, (3, 15)).softmax(-1)
        return (self.weights(h).softmax(-1).unsqueeze(-1) * p).sum(-2).clamp(min=1e-9).log()


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    after = torch.softmax(3 * torch.randn(15, 15), -1)
    model = Mixture()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    with debug(model):
        for _ in range(250):
            x = [torch.randint(0, 15, (16,))]
            for _ in range(10):
                x.append(torch.multinomial(after[x[-1]], 1)[:, 0])
            x = torch.stack(x, 1)
            loss = F.nll_loss(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
