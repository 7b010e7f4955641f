"""Dropout of 0.95 (0.05 was meant) follows the embedding, each LSTM layer and the attention. Repair: 0.05."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_dropout_of_ninety_five",
    source='widely reported: dropout of 0.95 where 0.05 was meant, loss at chance',
    cause="excessive_dropout",
    also=[],
    layer=["drop", ""],
    onset=(0, 5),
    symptom='slow',
)


class Tagger(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.embed = nn.Embedding(24, 24)
        self.one, self.two = nn.LSTM(24, 32, batch_first=True), nn.LSTM(32, 32, batch_first=True)
        self.drop = nn.Dropout(p)
        self.out = nn.Linear(32, 6)

    def forward(self, x):
        h = self.drop(self.embed(x))
        h = self.drop(self.one(h)[0])
        return self.out(self.drop(self.two(h)[0]))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    kind = torch.randint(0, 6, (24,))
    model = Tagger(0.05 if healthy else 0.95)
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    with debug(model):
        for _ in range(250):
            x = torch.randint(0, 24, (16, 8))
            loss = F.cross_entropy(model(x)[:, 1:].flatten(0, 1), kind[x][:, :-1].flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
