"""Matrix factorization with Adagrad at 1e-4, a rate known from Adam; here a step only gets smaller. Repair: 0.1."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_adagrad_for_ratings",
    source='widely reported: Adagrad with the rate of Adam hardly moves',
    cause="learning_rate_too_low",
    also=[],
    layer=None,
    onset=(0, 5),
    symptom='slow',
)


class Ratings(nn.Module):
    def __init__(self):
        super().__init__()
        self.user, self.item = nn.Embedding(60, 8), nn.Embedding(40, 8)
        self.user_bias, self.item_bias = nn.Embedding(60, 1), nn.Embedding(40, 1)
        for e in (self.user, self.item):
            nn.init.normal_(e.weight, 0, 0.3)
        for e in (self.user_bias, self.item_bias):
            nn.init.zeros_(e.weight)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(-1) + (self.user_bias(u) + self.item_bias(i)).squeeze(-1)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    truth = torch.randn(60, 4) @ torch.randn(4, 40) / 2 + torch.randn(60, 1) + torch.randn(40)
    model = Ratings()
    opt = torch.optim.Adagrad(model.parameters(), lr=0.1 if healthy else 1e-4)
    losses = []
    with debug(model):
        for _ in range(400):
            u, i = torch.randint(0, 60, (256,)), torch.randint(0, 40, (256,))
            loss = F.mse_loss(model(u, i), truth[u, i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
