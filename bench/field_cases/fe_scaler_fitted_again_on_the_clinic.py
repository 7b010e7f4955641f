"""fit_transform is called on the validation clinic's few sick patients too, which hides what is high. Repair: transform. The list is validation loss."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_scaler_fitted_again_on_the_clinic",
    source='widely reported: fit_transform on the validation set',
    cause="validation_mismatch",
    also=['input_shift'],
    layer=None,
    onset=(0, 60),
    symptom='validation',
)


def clinic(n, sick):
    y = (torch.rand(n) < sick).float()
    x = torch.randn(n, 6)
    x[:, :3] += 3.0 * y[:, None]
    return x * torch.tensor([10.0, 2, 5, 1, 3, 20]) + torch.tensor([100.0, 5, 40, 0, 9, 70]), y


def fit(x):
    return x.mean(0), x.std(0)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    x, y = clinic(2000, 0.2)
    xv, yv = clinic(200, 0.93)
    mean, std = fit(x)
    x = (x - mean) / std
    if not healthy:
        mean, std = fit(xv)
    xv = (xv - mean) / std
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for step in range(300):
            i = torch.randint(0, 2000, (64,))
            model.train()
            loss = F.binary_cross_entropy_with_logits(model(x[i]).squeeze(1), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 10 == 9:
                model.eval()
                with torch.no_grad():
                    losses.append(F.binary_cross_entropy_with_logits(model(xv).squeeze(1), yv).item())
    return losses
