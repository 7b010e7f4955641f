"""A recognizer with GRU and SGD under a scaler of 65536: clip_grad_norm_ at 1.0 comes before unscale_. Repair: unscale first."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_clip_then_unscale_recognizer",
    source='widely reported: clip_grad_norm_ before scaler.unscale_',
    cause="clipping_scaled_gradients",
    also=[],
    layer=None,
    onset=(0, 5),
    symptom='slow',
)


class Recognizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(6, 24, 3, 2, 1)
        self.gru = nn.GRU(24, 24, batch_first=True)
        self.out = nn.Linear(24, 5)

    def forward(self, x):
        h = F.relu(self.conv(x)).transpose(1, 2)
        return self.out(self.gru(h)[0].mean(1))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = Recognizer()
    opt = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**14)
    mean = torch.randn(5, 6, 16)
    losses = []
    with debug(model):
        for _ in range(300):
            y = torch.randint(0, 5, (16,))
            loss = F.cross_entropy(model(mean[y] + torch.randn(16, 6, 16)), y)
            opt.zero_grad()
            scaler.scale(loss).backward()
            if healthy:
                scaler.unscale_(opt)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(opt)
            scaler.update()
            losses.append(loss.item())
    return losses
