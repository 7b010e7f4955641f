"""A Q-net ends in a ReLU, and in this game every step costs one, so that all values are negative. Repair: no activation at the end."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_values_cannot_be_negative",
    source='widely reported: a Q-network that ends in a ReLU under rewards of minus one a step',
    cause="wrong_output_activation",
    also=['dying_relu'],
    layer=["4", "5", ""],
    onset=(0, 10),
    symptom='plateau',
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    layers = [nn.Linear(2, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2), nn.ReLU()]
    q = nn.Sequential(*(layers[:-1] if healthy else layers))
    old = copy.deepcopy(q)
    opt = torch.optim.Adam(q.parameters(), lr=2e-3)
    errors = []
    with debug(q):
        for step in range(500):
            if step % 25 == 0:
                old.load_state_dict(q.state_dict())
            place = torch.rand(64, 1) * 2 - 1
            a = torch.randint(0, 2, (64,))
            new = place + 0.3 * (2 * a[:, None] - 1)
            done = (new.abs() > 1).float().squeeze(1)
            s, n = torch.cat([place, place**2], 1), torch.cat([new, new**2], 1)
            with torch.no_grad():
                target = -1 + 0.95 * (1 - done) * old(n).amax(1)
            loss = F.mse_loss(q(s).gather(1, a[:, None]).squeeze(1), target)
            opt.zero_grad()
            loss.backward()
            opt.step()
            errors.append(loss.item())
    return errors
