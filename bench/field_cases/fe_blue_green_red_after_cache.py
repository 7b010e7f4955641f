"""From the second epoch on a faster reader hands out the color channels in reverse order. Repair: RGB throughout."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_blue_green_red_after_cache",
    source='widely reported: cv2 reads BGR where PIL read RGB',
    cause="input_shift",
    also=[],
    layer=None,
    onset=(195, 205),
    symptom='divergence',
)


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.GroupNorm(4, 16), nn.ReLU(), nn.Conv2d(16, 24, 3, 2, 1), nn.ReLU()
        )
        self.head = nn.Linear(24, 8)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Small()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(opt, 150, 0.02)
    tint = torch.randn(8, 3, 1, 1)
    mean = torch.tensor([1.5, 0.0, -1.5]).view(3, 1, 1)
    losses = []
    with debug(model):
        for step in range(400):
            y = torch.randint(0, 8, (32,))
            x = tint[y] + mean + 0.5 * torch.randn(32, 3, 12, 12)
            if step >= 200 and not healthy:
                x = x.flip(1)
            loss = F.cross_entropy(model(x - mean), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            schedule.step()
            losses.append(loss.item())
    return losses
