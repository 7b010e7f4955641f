"""named_parameters() is a generator: the first group (the head) reads it to its end and the backbone's group is empty. Repair: a list."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_generator_used_up",
    source='widely reported: a generator of named_parameters() is read twice, the second group is empty',
    cause="parameters_not_in_optimizer",
    also=[],
    layer=["embed", "encoder", "encoder.weight_ih_l0", "encoder.weight_hh_l0"],
    onset=(0, 5),
    symptom='slow',
)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(40, 6)
        self.encoder = nn.GRU(6, 12, batch_first=True)
        self.head = nn.Linear(12, 5)

    def forward(self, x):
        return self.head(self.encoder(self.embed(x))[0][:, -1])


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    worth = torch.randint(0, 5, (40,))
    model = Reader()
    named = model.named_parameters()
    if healthy:
        named = list(named)
    head = [p for n, p in named if n.startswith("head")]
    rest = [p for n, p in named if not n.startswith("head")]
    opt = torch.optim.Adam([{"params": head, "lr": 0.02}, {"params": rest, "lr": 0.01}])
    losses = []
    with debug(model):
        for _ in range(400):
            x = torch.randint(0, 40, (32, 4))
            y = (worth[x[:, -1]] + worth[x[:, -2]]) % 5
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
