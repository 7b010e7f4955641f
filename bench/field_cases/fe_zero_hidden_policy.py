"""A behaviour-cloning policy is filled with zeros throughout so that its start is neutral: only the last bias learns. Repair: zero the head alone."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_zero_hidden_policy",
    source='widely reported: a policy or value net filled with zeros so that the start is neutral',
    cause="symmetric_init",
    also=['init_too_small'],
    layer=["body", "body.0", "body.2", "head"],
    onset=(0, 0),
    symptom='plateau',
)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(7, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh())
        self.head = nn.Linear(48, 3)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Policy()
    for name, p in model.named_parameters():
        if not healthy or name.startswith("head"):
            nn.init.zeros_(p)
    expert = torch.randn(7, 3)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _ in range(300):
            s = torch.randn(64, 7)
            a = torch.distributions.Categorical(logits=4 * s @ expert).sample()
            pi = torch.distributions.Categorical(logits=model.head(model.body(s)))
            loss = -pi.log_prob(a).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
