"""A recurrent ReLU net whose recurrent matrix starts as the identity, a known recipe that asks for gradient clipping,
left out here. It should tell waves of four frequencies apart: the loss falls for some dozens of steps, then come
gradients tens to hundreds of times the usual ones, and the run ends at chance. Repair: clip the gradient norm."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_no_clipping_irnn_waves",
    source="a public report",
    cause="missing_gradient_clipping",
    also=["exploding_depth", "learning_rate_too_high"],
    layer=["rnn", ""],
    onset=(5, 120),
    symptom="exploding_gradient",
)


class IdentityRnn(nn.Module):
    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.rnn = nn.RNN(1, width, nonlinearity="relu", batch_first=True)
        nn.init.eye_(self.rnn.weight_hh_l0)
        nn.init.zeros_(self.rnn.bias_hh_l0)
        nn.init.zeros_(self.rnn.bias_ih_l0)
        nn.init.normal_(self.rnn.weight_ih_l0, std=0.1)
        self.out = nn.Linear(width, 4)

    def forward(self, x: Tensor) -> Tensor:
        states, _ = self.rnn(x)
        return self.out(states[:, -1])


def waves(count: int, length: int) -> tuple[Tensor, Tensor]:
    label = torch.randint(0, 4, (count,))
    rate = (0.15 + 0.15 * label.float())[:, None]
    x = torch.sin(rate * torch.arange(float(length)) + 6.28 * torch.rand(count, 1))
    return (x + 0.1 * torch.randn(count, length))[..., None], label


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = IdentityRnn()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(400):
            x, label = waves(32, 40)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), label)
            loss.backward()
            if healthy:
                nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            losses.append(loss.item())
    return losses
