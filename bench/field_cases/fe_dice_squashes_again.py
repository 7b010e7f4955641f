"""A segmenter ends in a softmax, and the Dice loss takes a sigmoid of what it gets. Repair: no sigmoid in the loss."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_dice_squashes_again",
    source='as in github.com/Hsuxu/Loss_ToolBox-PyTorch/issues/11',
    cause="redundant_softmax",
    also=['saturating_activation'],
    layer=["act", "", "out"],
    onset=(0, 0),
    symptom='slow',
)


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU())
        self.out = nn.Conv2d(16, 3, 1)
        self.act = nn.Softmax(1)

    def forward(self, x):
        return self.act(self.out(self.body(x)))


def dice(p, y, squash):
    p = torch.sigmoid(p) if squash else p
    t = F.one_hot(y, 3).permute(0, 3, 1, 2).float()
    inter = (p * t).sum((0, 2, 3))
    return 1 - (2 * inter / (p.sum((0, 2, 3)) + t.sum((0, 2, 3)))).mean()


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Segmenter()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    losses = []
    with debug(model):
        for _ in range(250):
            field = F.avg_pool2d(torch.randn(8, 1, 14, 14), 5, 1, 2) * 5
            y = ((field > 0.5).long() + (field > -0.5).long())[:, 0]
            loss = dice(model(field + 0.3 * torch.randn_like(field)), y, not healthy)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
