"""A two-tower ranker with RMSprop and weight_decay=0.5: embeddings shrink to nothing and all scores are equal. Repair: 1e-5."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_decay_on_every_embedding",
    source='widely reported: weight_decay=1e-1 with SGD or RMSprop on embeddings, every rating is the mean',
    cause="excessive_weight_decay",
    also=[],
    layer=None,
    onset=(0, 60),
    symptom='plateau',
)


class Towers(nn.Module):
    def __init__(self):
        super().__init__()
        self.user, self.item = nn.Embedding(50, 16), nn.Embedding(80, 16)
        self.mix = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, u, i):
        u, i = self.user(u), self.item(i)
        return (u * i).sum(-1) + self.mix(torch.cat([u, i], -1)).squeeze(-1)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    like = torch.randn(50, 3) @ torch.randn(3, 80)
    model = Towers()
    opt = torch.optim.RMSprop(model.parameters(), lr=5e-3, weight_decay=1e-5 if healthy else 0.5)
    losses = []
    with debug(model):
        for _ in range(400):
            u, i = torch.randint(0, 50, (128,)), torch.randint(0, 80, (128,))
            loss = F.binary_cross_entropy_with_logits(model(u, i), (like[u, i] > 0).float())
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
