"""A dilated pyramid's image branch pools to 1x1 and goes through batch norm with a batch of two: plus or minus one. Repair: group norm there."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_pooled_branch_normalized_over_two",
    source="widely reported: ASPP's pooled branch, batch norm of 1x1 maps with a batch of two",
    cause="batchnorm_small_batch",
    also=[],
    layer=["image_norm", ""],
    onset=(0, 5),
    symptom='slow',
)


class Pyramid(nn.Module):
    def __init__(self, healthy):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(2, 16, 3, padding=1), nn.ReLU())
        self.near = nn.Conv2d(16, 8, 3, padding=1)
        self.image = nn.Conv2d(16, 16, 1)
        self.image_norm = nn.GroupNorm(2, 16) if healthy else nn.BatchNorm2d(16)
        self.out = nn.Sequential(nn.Conv2d(24, 16, 1), nn.ReLU(), nn.Conv2d(16, 2, 1))

    def forward(self, x):
        h = self.stem(x)
        g = F.relu(self.image_norm(self.image(h.mean((2, 3), keepdim=True))))
        return self.out(torch.cat([self.near(h), g.expand(-1, -1, *h.shape[2:])], 1))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Pyramid(healthy)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _ in range(500):
            light = 1.5 * torch.randn(2, 1, 1, 1)
            field = F.avg_pool2d(torch.randn(2, 1, 16, 16), 3, 1, 1) * 2
            y = (field > light).long()[:, 0]
            other = light + 5 * torch.randn(2, 1, 16, 16)
            loss = F.cross_entropy(model(torch.cat([field, other], 1)), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
