"""Flats of one city by latitude and longitude: 48.85 and 2.35 with a spread of hundredths. Repair: standardize both."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_coordinates_in_degrees",
    source='widely reported: latitude and longitude of one city as raw features, the model predicts the mean',
    cause="unnormalized_input",
    also=['constant_input'],
    layer=None,
    onset=(0, 5),
    symptom='plateau',
)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    with debug(model):
        for _ in range(500):
            place = torch.randn(64, 2)
            price = torch.sin(2 * place[:, :1]) + torch.cos(1.5 * place[:, 1:]) + 0.1 * torch.randn(64, 1)
            degrees = torch.tensor([48.856, 2.352]) + torch.tensor([0.003, 0.005]) * place
            x = place if healthy else degrees
            loss = F.mse_loss(model(x), price)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
