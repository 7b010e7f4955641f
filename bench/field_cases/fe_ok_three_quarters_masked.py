"""Healthy. A masked autoencoder: three quarters of the patches are replaced by a learnt token, and the loss is taken there alone."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_ok_three_quarters_masked",
    source='a common practice',
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp, self.out = nn.Linear(4, 32), nn.Linear(32, 4)
        self.token = nn.Parameter(0.02 * torch.randn(32))
        self.place = nn.Parameter(0.02 * torch.randn(16, 32))
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, 0.0, batch_first=True, norm_first=True), 2)

    def forward(self, x, hidden):
        h = torch.where(hidden.unsqueeze(-1), self.token, self.inp(x)) + self.place
        return self.out(self.encoder(h))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Masked()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    basis = torch.randn(3, 64)
    losses = []
    with debug(model):
        for _ in range(350):
            x = (torch.randn(32, 3) @ basis / 1.7).view(32, 16, 4)
            hidden = torch.rand(32, 16) < 0.75
            loss = ((model(x, hidden) - x) ** 2)[hidden].mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
