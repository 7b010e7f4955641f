"""The Noam schedule with a warm-up of 100000 steps in a run of 300: the rate stays below 1e-6. Repair: a warm-up of 60."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_noam_warmup_never_ends",
    source="widely reported: the Noam schedule's 4000 warm-up steps (or a hundred thousand) in a run of some hundred",
    cause="learning_rate_too_low",
    also=[],
    layer=None,
    onset=(0, 5),
    symptom='slow',
)


class Copier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.place = nn.Embedding(16, 32), nn.Embedding(10, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, 0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(32, 16)

    def forward(self, x):
        return self.out(self.encoder(self.embed(x) + self.place(torch.arange(10))))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    warmup = 60 if healthy else 100000
    model = Copier()
    opt = torch.optim.Adam(model.parameters(), lr=0.2 if healthy else 1.0, betas=(0.9, 0.98), eps=1e-9)
    noam = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda s: 32**-0.5 * min((s + 1) ** -0.5, (s + 1) * warmup**-1.5)
    )
    losses = []
    with debug(model):
        for _ in range(300):
            x = torch.randint(0, 16, (16, 10))
            loss = F.cross_entropy(model(x).flatten(0, 1), x.flip(1).flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
            noam.step()
            losses.append(loss.item())
    return losses
