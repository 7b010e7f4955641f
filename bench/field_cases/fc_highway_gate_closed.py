"""Highway layers start with their gates' bias at -20 where -2 was meant. The gates are closed to the ninth decimal: no
gradient reaches the transforms or the gates, all layers pass their input on, and the net is linear. Repair: -2."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_highway_gate_closed",
    source="widely reported: gates that start closed never open",
    cause="saturating_activation",
    also=["init_too_large"],
    layer=["layers.0.gate", "layers.1.gate", "layers.2.gate", "layers.0", "layers.1", "layers.2"],
    onset=(0, 0),
    symptom="loss_plateau",
)


class Highway(nn.Module):
    def __init__(self, width: int, bias: float) -> None:
        super().__init__()
        self.transform = nn.Linear(width, width)
        self.gate = nn.Linear(width, width)
        nn.init.constant_(self.gate.bias, bias)

    def forward(self, x: Tensor) -> Tensor:
        gate = torch.sigmoid(self.gate(x))
        return gate * torch.relu(self.transform(x)) + (1 - gate) * x


class HighwayNet(nn.Module):
    def __init__(self, bias: float) -> None:
        super().__init__()
        self.enter = nn.Linear(5, 32)
        self.layers = nn.ModuleList([Highway(32, bias) for _ in range(3)])
        self.leave = nn.Linear(32, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        for layer in self.layers:
            x = layer(x)
        return self.leave(x)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = HighwayNet(-2.0 if healthy else -20.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss()
    losses = []
    with debug(model):
        for _ in range(350):
            x = torch.randn(48, 5)
            label = ((x[:, 0] * x[:, 1] + 0.3 * x[:, 2] * x[:, 3]) > 0).long()
            optimizer.zero_grad()
            loss = criterion(model(x), label)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
