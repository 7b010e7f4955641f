"""The rate finder suggested 8.0 for a GRU under SGD with momentum, since its curve was noisy. Repair: 0.1."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_rate_found_by_the_finder",
    source='widely reported: a suggestion of an automatic learning-rate search taken as it is',
    cause="learning_rate_too_high",
    also=[],
    layer=None,
    onset=(0, 20),
    symptom='divergence',
)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 24)
        self.gru = nn.GRU(24, 40, batch_first=True)
        self.out = nn.Linear(40, 10)

    def forward(self, x):
        return self.out(self.gru(self.embed(x))[0])


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    kind = torch.randint(0, 10, (20,))
    model = Tagger()
    opt = torch.optim.SGD(model.parameters(), lr=0.1 if healthy else 8.0, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(250):
            x = torch.randint(0, 20, (16, 10))
            y = kind[x.roll(1, 1)]
            loss = F.cross_entropy(model(x)[:, 1:].flatten(0, 1), y[:, 1:].flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
