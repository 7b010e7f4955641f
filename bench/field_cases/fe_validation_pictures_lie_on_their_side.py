"""Training pictures are turned upright, and validation pictures are read with another library that doesn't turn them and keeps 0..255. Repair: one reader."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_validation_pictures_lie_on_their_side",
    source='widely reported: EXIF rotation applied to the training pictures only',
    cause="validation_mismatch",
    also=['input_shift'],
    layer=None,
    onset=(0, 60),
    symptom='validation',
)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 12, 3, 2, 1), nn.BatchNorm2d(12), nn.ReLU(), nn.Conv2d(12, 16, 3, 2, 1), nn.ReLU())
        self.head = nn.Linear(144, 5)

    def forward(self, x):
        return self.head(self.body(x).flatten(1))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    mean = torch.rand(5, 1, 12, 12)
    model = Net()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    losses = []
    with debug(model):
        for step in range(240):
            model.train()
            y = torch.randint(0, 5, (32,))
            x = (mean[y] + 0.3 * torch.randn(32, 1, 12, 12) - 0.5) / 0.4
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 8 == 7:
                model.eval()
                with torch.no_grad():
                    y = torch.randint(0, 5, (64,))
                    pixels = mean[y] + 0.3 * torch.randn(64, 1, 12, 12)
                    x = (pixels - 0.5) / 0.4 if healthy else (255 * pixels).rot90(1, (2, 3))
                    losses.append(F.cross_entropy(model(x), y).item())
    return losses
