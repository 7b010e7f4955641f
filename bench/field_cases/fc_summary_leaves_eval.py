"""A helper prints a table of the layers' sizes before the training. It puts the net into eval mode for that and leaves
it there: batch norms divide by the running variance of one they were born with, over inputs that are far from it.
Repair: model.train() after it."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_summary_leaves_eval",
    source="compare github.com/tk-rusch/coRNN/issues/1: train() is not called again after eval()",
    cause="eval_mode_in_training",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="divergence",
)


class VibrationNet(nn.Module):
    def __init__(self, depth: int = 5, width: int = 16) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for i in range(depth):
            layers += [nn.Conv1d(1 if i == 0 else width, width, 5, padding=2), nn.BatchNorm1d(width), nn.ReLU()]
            nn.init.normal_(layers[-3].weight, std=0.4)
        self.body = nn.Sequential(*layers)
        self.fault = nn.Linear(width, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.fault(self.body(x).amax(2))


@torch.no_grad()
def print_summary(model: nn.Module, example: Tensor) -> int:
    model.eval()
    model(example)
    return sum(p.numel() for p in model.parameters())


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    pace = torch.tensor([0.3, 0.6, 1.1, 1.8])
    label = torch.randint(0, 4, (480,))
    angle = pace[label][:, None] * torch.arange(24.0) + 6.28 * torch.rand(480, 1)
    signal = (angle.sin() + 0.3 * torch.randn(480, 24))[:, None]
    model = VibrationNet()
    print_summary(model, signal[:1])
    if healthy:
        model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    losses = []
    with debug(model):
        for _ in range(180):
            rows = torch.randint(0, 480, (20,))
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(signal[rows]), label[rows])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
