"""A denoiser's loss is a structural similarity (correlation of windows), which is high for good pictures, and is minimized. Repair: one minus it. The list is the squared error."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_similarity_index_minimized",
    source='widely reported: SSIM used as the loss, not one minus SSIM',
    cause="loss_sign",
    also=[],
    layer=None,
    onset=(0, 30),
    symptom='divergence',
)


def similarity(a, b):
    def pool(z):
        return F.avg_pool2d(z, 5, 1)

    ma, mb = pool(a), pool(b)
    va, vb, cov = pool(a * a) - ma**2, pool(b * b) - mb**2, pool(a * b) - ma * mb
    return ((2 * ma * mb + 0.01) * (2 * cov + 0.03) / ((ma**2 + mb**2 + 0.01) * (va + vb + 0.03))).mean()


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 1, 3, padding=1)
    )
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    errors = []
    with debug(model):
        for _ in range(200):
            clean = F.avg_pool2d(torch.randn(8, 1, 16, 16), 5, 1, 2) * 4
            out = model(clean + 0.5 * torch.randn_like(clean))
            s = similarity(out, clean)
            loss = 1 - s if healthy else s
            opt.zero_grad()
            loss.backward()
            opt.step()
            errors.append(F.mse_loss(out, clean).item())
    return errors
