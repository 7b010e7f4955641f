"""The rate is scaled by the number of workers before the first step. A resumed run loads the scaled rate with the
optimizer's state and scales it once more, and again by the number of accumulation steps: the loss leaps at the step of
the resumption. Repair: scale once."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_resume_scales_rate_again",
    source="compare github.com/ultralytics/yolov5/issues/292: the rate is another one after a resumption",
    cause="learning_rate_jump",
    also=["learning_rate_too_high"],
    layer=None,
    onset=(150, 160),
    symptom="divergence",
)


class PoseNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(2, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 16, 3, 2, 1), nn.ReLU(), nn.Flatten()
        )
        self.joints = nn.Linear(16 * 36, 6)

    def forward(self, x: Tensor) -> Tensor:
        return self.joints(self.trunk(x))


def scale_rate(optimizer: torch.optim.Optimizer, workers: int) -> None:
    for group in optimizer.param_groups:
        group["lr"] *= workers


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    basis = torch.randn(6, 2, 12, 12) * 0.4
    joints = torch.randn(900, 6)
    image = torch.einsum("nj,jchw->nchw", joints, basis) + 0.3 * torch.randn(900, 2, 12, 12)
    model = PoseNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0005, momentum=0.9)
    scale_rate(optimizer, 8)
    losses = []
    with debug(model):
        for step in range(280):
            if step == 150:
                checkpoint = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                optimizer = torch.optim.SGD(model.parameters(), lr=0.0005, momentum=0.9)
                optimizer.load_state_dict(checkpoint["optimizer"])
                if not healthy:
                    scale_rate(optimizer, 64)
            rows = torch.randint(0, 900, (24,))
            loss = (model(image[rows]) - joints[rows]).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
