"""A convolutional classifier is trained with a weight decay of 0.5: the pull to zero is stronger than the gradient the
weights shrink, and the answers to all inputs hardly differ. Repair: 5e-4."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_decay_of_one_half",
    source="as in github.com/BVLC/caffe/issues/1396: decay 0.5, any input produces the same output",
    cause="excessive_weight_decay",
    also=[],
    layer=None,
    onset=(0, 60),
    symptom="loss_plateau",
)


class AllConvolutional(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Conv2d(3, 12, 3, padding=1)
        self.b = nn.Conv2d(12, 16, 3, stride=2, padding=1)
        self.c = nn.Conv2d(16, 5, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.elu(self.b(nn.functional.elu(self.a(x))))
        return self.c(x).mean((2, 3))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    tint = 0.4 * torch.randn(5, 3, 1, 1)
    grain = torch.randn(5, 3, 8, 8) * 0.4
    label = torch.randint(0, 5, (600,))
    image = (tint + grain)[label] + 0.9 * torch.randn(600, 3, 8, 8)
    model = AllConvolutional()
    optimizer = torch.optim.SGD(
        model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4 if healthy else 0.5, nesterov=True
    )
    losses = []
    with debug(model):
        for _epoch in range(8):
            for rows in torch.randperm(600).split(24):
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(image[rows]), label[rows])
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
