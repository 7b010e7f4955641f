"""A divergence by hand, sum of p * (log p - log q), and soft labels of three raters hold zeros. Repair: torch.special.xlogy."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_soft_labels_with_zeros",
    source='widely reported: p * log(p) with p = 0 is 0 times minus infinity',
    cause="loss_domain",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom='loss_nan',
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 4))
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    w = 1.5 * torch.randn(10, 4)
    losses = []
    with debug(model):
        for step in range(300):
            x = torch.randn(48, 10)
            truth = torch.softmax(x @ w, -1)
            raters = 3 if step >= 20 else 0
            p = torch.stack([F.one_hot(torch.multinomial(truth, 1)[:, 0], 4).float() for _ in range(3)]).mean(0) if raters else truth
            log_q = model(x).log_softmax(-1)
            kl = torch.special.xlogy(p, p) - p * log_q if healthy else p * (p.log() - log_q)
            loss = kl.sum(1).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
