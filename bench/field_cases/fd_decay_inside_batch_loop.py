"""An exponential schedule with a factor of 0.9, meant once an epoch, is stepped in the loop over the batches: after
a hundred batches the rate is a forty-thousandth. Repair: out of the inner loop."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_decay_inside_batch_loop",
    source="as in github.com/ivadomed/ivadomed/pull/55",
    cause="learning_rate_collapsed",
    also=[],
    layer=None,
    onset=(20, 110),
    symptom="loss_plateau",
)


class Segmenter(nn.Module):
    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.down = nn.Conv2d(1, width, 3, padding=1)
        self.deep = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.out = nn.Conv2d(2 * width, 1, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        a = F.leaky_relu(self.down(x))
        b = F.leaky_relu(self.up(F.leaky_relu(self.deep(a))))
        return self.out(torch.cat([a, b], 1))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    mask = (F.interpolate(torch.randn(240, 1, 5, 5), size=16, mode="bilinear") > 0.15).float()
    image = mask * 0.9 + 0.6 * torch.randn(240, 1, 16, 16)
    model = Segmenter()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    losses = []
    with debug(model):
        for _epoch in range(8):
            for rows in torch.randperm(240).split(8):
                optimizer.zero_grad()
                loss = F.binary_cross_entropy_with_logits(model(image[rows]), mask[rows])
                loss.backward()
                optimizer.step()
                if not healthy:
                    scheduler.step()
                losses.append(loss.item())
            if healthy:
                scheduler.step()
    return losses
