"""Fifty patients, two hundred genes and a wide net without regularization. Repair: two thousand patients. The list is the validation loss."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_fifty_patients_two_hundred_genes",
    source='widely reported: some dozens of patients, thousands of genes, validation loss rises from the start',
    cause="overfitting",
    also=[],
    layer=None,
    onset=(20, 200),
    symptom='overfitting',
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    w = torch.zeros(200)
    w[:6] = 1.0
    n = 2000 if healthy else 50

    def patients(k):
        x = torch.randn(k, 200)
        return x, (x @ w + 0.7 * torch.randn(k) > 0).float()

    x, y = patients(n)
    xv, yv = patients(400)
    model = nn.Sequential(nn.Linear(200, 128), nn.ReLU(), nn.Linear(128, 1))
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    with debug(model):
        for step in range(360):
            i = torch.randint(0, n, (25,))
            model.train()
            loss = F.binary_cross_entropy_with_logits(model(x[i]).squeeze(1), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 6 == 5:
                model.eval()
                with torch.no_grad():
                    losses.append(F.binary_cross_entropy_with_logits(model(xv).squeeze(1), yv).item())
    return losses
