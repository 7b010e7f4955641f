"""Healthy. Two views of a sample with a predictor and a stopped gradient: the loss is a negative cosine and goes to nearly -1."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_ok_two_views_stop_gradient",
    source='a common practice',
    cause="none",
    also=[],
    layer=None,
    onset=None,
    symptom=None,
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    encoder = nn.Sequential(nn.Linear(16, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32), nn.BatchNorm1d(32, affine=False))
    predictor = nn.Sequential(nn.Linear(32, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 32))
    model = nn.ModuleDict(dict(encoder=encoder, predictor=predictor))
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    basis = torch.randn(4, 16)
    losses = []
    with debug(model):
        for _ in range(300):
            x = torch.randn(64, 4) @ basis
            a, b = encoder(x + 0.4 * torch.randn(64, 16)), encoder(x + 0.4 * torch.randn(64, 16))
            loss = -(F.cosine_similarity(predictor(a), b.detach()).mean() + F.cosine_similarity(predictor(b), a.detach()).mean()) / 2
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
