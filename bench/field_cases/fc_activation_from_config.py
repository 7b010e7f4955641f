"""The activation's name comes from a configuration, 'relu' is looked up among the classes of torch.nn, which has a
'ReLU' only, and the fallback is nn.Identity. Five linear layers in a row can draw a line and no circle. Repair: the
right name."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_activation_from_config",
    source="widely reported: layers without an activation between them",
    cause="missing_nonlinearity",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class Perceptron(nn.Module):
    def __init__(self, sizes: list[int], activation: str) -> None:
        super().__init__()
        act = getattr(nn, activation, nn.Identity)
        layers: list[nn.Module] = []
        for fan_in, fan_out in zip(sizes[:-2], sizes[1:-1], strict=True):
            layers += [nn.Linear(fan_in, fan_out), act()]
        self.net = nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))

    def forward(self, x: Tensor) -> Tensor:
        return self.net(x).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Perceptron([3, 32, 32, 24, 16, 1], "ReLU" if healthy else "relu")
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.BCEWithLogitsLoss()
    losses = []
    with debug(model):
        for _ in range(300):
            x = torch.randn(48, 3)
            inside = (x.square().sum(1) < 2.37).float()
            optimizer.zero_grad()
            loss = criterion(model(x), inside)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
