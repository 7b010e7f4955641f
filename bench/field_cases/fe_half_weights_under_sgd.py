"""model.half() over equalized weights of unit size and a small rate: most steps are below half the spacing of the weights. Repair: float32 weights and bfloat16 autocast with the same rate."""

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_half_weights_under_sgd",
    source='widely reported: model.half() and SGD with a small rate, the weights do not change',
    cause="half_precision_underflow",
    also=['learning_rate_too_low'],
    layer=None,
    onset=(0, 5),
    symptom='plateau',
)


class Equal(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(o, i))
        self.gain = i**-0.5

    def forward(self, x):
        return F.linear(x * self.gain, self.weight)


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    model = nn.Sequential(Equal(128, 512), nn.ReLU(), Equal(512, 8))
    if not healthy:
        model.half()
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    mean = 3 * torch.randn(8, 128)
    losses = []
    with debug(model):
        for _ in range(500):
            y = torch.randint(0, 8, (64,))
            x = mean[y] + torch.randn(64, 128)
            if healthy:
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    out = model(x)
            else:
                out = model(x.half())
            loss = F.cross_entropy(out.float(), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
