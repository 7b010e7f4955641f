"""A binary autoencoder thresholds its codes by (z > 0).float(): no gradient reaches the encoder. Repair: a straight-through estimate."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_hard_threshold_of_codes",
    source='widely reported: (x > 0).float() in the forward, everything before gets no gradient',
    cause="detached_graph",
    also=['saturating_activation'],
    layer=["encoder", "encoder.0", "encoder.2", ""],
    onset=(0, 0),
    symptom='plateau',
)


class Binary(nn.Module):
    def __init__(self, healthy):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 8))
        self.decoder = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 30))
        self.healthy = healthy

    def forward(self, x):
        z = self.encoder(x)
        hard = (z > 0).float()
        if self.healthy:
            soft = torch.sigmoid(z)
            hard = hard + soft - soft.detach()
        return self.decoder(hard)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    parts = torch.randn(6, 30)
    model = Binary(healthy)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _ in range(500):
            x = torch.randint(0, 2, (64, 6)).float() @ parts + 0.05 * torch.randn(64, 30)
            loss = F.mse_loss(model(x), x)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
