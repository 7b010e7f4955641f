"""A schedule is 'turned off' by gamma=0, so that the rate is zero after the first period. Repair: gamma=1. A recurrent autoencoder."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_scheduler_turned_off_by_gamma_zero",
    source='as in github.com/LINCellularNeuroscience/VAME/issues/26',
    cause="learning_rate_collapsed",
    also=[],
    layer=None,
    onset=(58, 62),
    symptom='plateau',
)


class Behaviour(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.GRU(4, 32, batch_first=True)
        self.latent = nn.Linear(32, 8)
        self.decoder = nn.GRU(8, 32, batch_first=True)
        self.out = nn.Linear(32, 4)

    def forward(self, x):
        z = self.latent(self.encoder(x)[1][0])
        return self.out(self.decoder(z.unsqueeze(1).expand(-1, x.shape[1], -1))[0])


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Behaviour()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.StepLR(opt, step_size=60, gamma=1.0 if healthy else 0.0)
    t = torch.arange(16) / 4.0
    losses = []
    with debug(model):
        for _ in range(400):
            phase = 6.28 * torch.rand(32, 1, 4)
            x = torch.sin(t[None, :, None] * torch.tensor([1.0, 1.3, 0.7, 1.0]) + phase[..., :1]) * (0.5 + phase[..., 1:2] / 4)
            loss = F.mse_loss(model(x), x)
            opt.zero_grad()
            loss.backward()
            opt.step()
            schedule.step()
            losses.append(loss.item())
    return losses
