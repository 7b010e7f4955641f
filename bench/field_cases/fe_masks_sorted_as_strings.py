"""Image names are sorted as strings (10 before 2), mask names as numbers, so that each image gets another one's mask. Repair: one order."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_masks_sorted_as_strings",
    source='widely reported: img_10 before img_2 in one of two sorted lists, masks of other images',
    cause="uninformative_labels",
    also=[],
    layer=None,
    onset=(0, 5),
    symptom='plateau',
)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU())
        self.b = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.Upsample(scale_factor=2))
        self.c = nn.Sequential(nn.Conv2d(36, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 1, 1))

    def forward(self, x):
        a = self.a(x)
        return self.c(torch.cat([a, self.b(a)], 1))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    n = 1000
    shape = F.avg_pool2d(torch.randn(n, 1, 12, 12), 5, 1, 2)
    masks = (shape > 0).float()
    images = 2 * masks - 1 + 0.5 * torch.randn(n, 1, 12, 12)
    order = sorted(range(n), key=lambda i: f"img_{i}") if not healthy else list(range(n))
    images = images[order]
    model = UNet()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    with debug(model):
        for _ in range(250):
            i = torch.randint(0, n, (16,))
            loss = F.binary_cross_entropy_with_logits(model(images[i]), masks[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
