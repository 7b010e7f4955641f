"""A plain recurrent net sums marked numbers over thirty ticks, started from an orthogonal matrix a little above unit
gain. It gets better for a while, then one batch has a gradient many times the usual and the weights are gone. Repair:
clip the gradient's norm."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_long_memory_unclipped",
    source="as in github.com/Marcovaldong/lstmp.pytorch/issues/2: clip to norm one",
    cause="missing_gradient_clipping",
    also=["exploding_depth", "learning_rate_too_high"],
    layer=["rnn", ""],
    onset=(1, 150),
    symptom="exploding_gradient",
)


class Adder(nn.Module):
    def __init__(self, width: int = 40) -> None:
        super().__init__()
        self.rnn = nn.RNN(2, width, nonlinearity="relu", batch_first=True)
        nn.init.orthogonal_(self.rnn.weight_hh_l0, gain=1.05)
        self.out = nn.Linear(width, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.rnn(x)[0][:, -1]).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Adder()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    losses = []
    with debug(model):
        for _ in range(400):
            value = torch.rand(32, 20)
            mark = (torch.rand(32, 20) < 0.2).float()
            target = (value * mark).sum(1) - 2.0
            loss = nn.functional.mse_loss(model(torch.stack([value, mark], 2)), target)
            optimizer.zero_grad()
            loss.backward()
            if healthy:
                nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            losses.append(loss.item())
    return losses
