"""A net of plain tensors in a module and a step written by hand, parameter minus rate times gradient. With the rate
of the logistic regression before it, 2.0, the loss jumps about. Repair: 0.2."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_handwritten_sgd_two",
    source="widely reported: a hand-written update with the rate of another model",
    cause="learning_rate_too_high",
    also=[],
    layer=None,
    onset=(0, 20),
    symptom="divergence",
)


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w1, self.b1 = nn.Parameter(torch.randn(12, 40) / 12**0.5), nn.Parameter(torch.zeros(40))
        self.w2, self.b2 = nn.Parameter(torch.randn(40, 40) / 40**0.5), nn.Parameter(torch.zeros(40))
        self.w3, self.b3 = nn.Parameter(torch.randn(40, 3) / 40**0.5), nn.Parameter(torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        h = F.gelu(x @ self.w1 + self.b1)
        h = F.gelu(h @ self.w2 + self.b2)
        return h @ self.w3 + self.b3


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    rule = torch.randn(12, 3)
    model = Plain()
    rate = 0.1 if healthy else 2.0
    losses = []
    with debug(model):
        for _ in range(300):
            x = torch.randn(64, 12)
            y = torch.sin(x @ rule) + x[:, :3]
            loss = (model(x) - y).square().mean()
            gradients = torch.autograd.grad(loss, list(model.parameters()))
            with torch.no_grad():
                for parameter, gradient in zip(model.parameters(), gradients):
                    parameter -= rate * gradient
            losses.append(loss.item())
    return losses
