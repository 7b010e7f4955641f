"""A transformer over atoms reads out (B, 1), the labels are (B,), and abs().mean() is taken by hand. Repair: squeeze."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_energies_of_a_batch_in_a_column",
    source='widely reported: L1 of (B, 1) against (B,) in a molecular regression',
    cause="loss_shape_mismatch",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom='plateau',
)


class Atoms(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(5, 32)
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, 0.0, batch_first=True, norm_first=True)
        self.read = nn.Linear(32, 1)

    def forward(self, x):
        return self.read(self.layer(self.embed(x)).mean(1))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Atoms()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    losses = []
    with debug(model):
        for _ in range(300):
            x = torch.randn(32, 7, 5)
            label = x[..., 0].mean(1) * 2 + x[..., 1].abs().mean(1) * 2 - x[..., 2].amax(1)
            out = model(x)
            loss = ((out.squeeze(-1) if healthy else out) - label).abs().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
