"""The vegetation index (nir-red)/(nir+red) is 0/0 on the black border of a satellite tile. Repair: an epsilon below the line."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_vegetation_index_of_no_data",
    source='widely reported: NDVI of no-data pixels is 0/0, the segmentation loss turns NaN',
    cause="nan_in_input",
    also=['loss_domain'],
    layer=None,
    onset=(30, 60),
    symptom='loss_nan',
)


class Tiny(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 16, 3, 2, 1), nn.ReLU())
        self.up = nn.Sequential(nn.ConvTranspose2d(16, 12, 2, 2), nn.ReLU())
        self.out = nn.Conv2d(15, 1, 1)

    def forward(self, x):
        return self.out(torch.cat([self.up(self.down(x)), x], 1))


def tiles(n, border, eps):
    land = F.avg_pool2d(torch.randn(n, 1, 16, 16), 5, 1, 2) * 3
    nir = torch.sigmoid(land + 0.3 * torch.randn_like(land))
    red = torch.sigmoid(-land + 0.3 * torch.randn_like(land))
    if border:
        nir[0, :, :, :2] = 0
        red[0, :, :, :2] = 0
    index = (nir - red) / (nir + red + eps)
    return torch.cat([nir, red, index], 1), (land > 0.3).float()


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Tiny()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for step in range(200):
            x, y = tiles(8, step % 40 == 39, 1e-6 if healthy else 0.0)
            loss = F.binary_cross_entropy_with_logits(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
