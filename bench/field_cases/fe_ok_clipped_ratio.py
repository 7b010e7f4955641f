"""Healthy. Proximal policy optimization: the clipped objective lies about zero all the time. The list is one minus the reward."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_ok_clipped_ratio",
    source='a common practice',
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 48), nn.Tanh())
        self.pi, self.v = nn.Linear(48, 4), nn.Linear(48, 1)

    def forward(self, s):
        h = self.body(s)
        return torch.distributions.Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    best = torch.randn(6, 4)
    model = Policy()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    values = []
    with debug(model):
        for _ in range(100):
            s = torch.randn(128, 6)
            with torch.no_grad():
                pi, v = model(s)
                a = pi.sample()
                old = pi.log_prob(a)
                r = ((s @ best).argmax(1) == a).float()
                adv = r - v
                adv = (adv - adv.mean()) / (adv.std() + 1e-8)
            for _ in range(4):
                pi, v = model(s)
                ratio = (pi.log_prob(a) - old).exp()
                loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean() + 0.5 * F.mse_loss(v, r) - 0.005 * pi.entropy().mean()
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                opt.step()
                values.append(1 - r.mean().item())
    return values
