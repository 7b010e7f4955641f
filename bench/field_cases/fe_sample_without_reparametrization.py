"""A variational autoencoder draws its code by sample() and not rsample(): the reconstruction gives the encoder no gradient. Repair: rsample()."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_sample_without_reparametrization",
    source='widely reported: Normal(...).sample() in a VAE where rsample() was meant',
    cause="detached_graph",
    also=[],
    layer=["encoder", "encoder.0", "encoder.2", "mean", "spread", ""],
    onset=(0, 0),
    symptom='plateau',
)


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(20, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.mean, self.spread = nn.Linear(48, 4), nn.Linear(48, 4)
        self.decoder = nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, 20))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    basis = torch.randn(3, 20)
    model = Vae()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _ in range(400):
            x = torch.randn(64, 3) @ basis + 0.1 * torch.randn(64, 20)
            h = model.encoder(x)
            q = torch.distributions.Normal(model.mean(h), F.softplus(model.spread(h)) + 1e-3)
            z = q.rsample() if healthy else q.sample()
            error = (model.decoder(z) - x).pow(2).mean()
            kl = torch.distributions.kl_divergence(q, torch.distributions.Normal(0.0, 1.0)).mean()
            loss = error + 0.01 * kl
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(error.item())
    return losses
