"""Memory allows two windows at a time; gradients are accumulated over eight such pairs, which the batch norms do not
know. In a pair each feature is scaled to plus or minus one, whatever its size was. Repair: layer norm."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_norm_of_two_windows",
    source="compare github.com/xuebinqin/BASNet/issues/42: far worse at batch size one, another norm advised",
    cause="batchnorm_small_batch",
    also=[],
    layer=["norm1", "norm2"],
    onset=(0, 0),
    symptom="slow",
)


class WindowNet(nn.Module):
    def __init__(self, norm: type[nn.Module]) -> None:
        super().__init__()
        self.lift = nn.Linear(10, 32)
        self.norm1 = norm(32)
        self.mix = nn.Linear(32, 32)
        self.norm2 = norm(32)
        self.value = nn.Linear(32, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.norm1(self.lift(x)))
        return self.value(torch.relu(self.norm2(self.mix(x)))).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    weight = torch.randn(10, 2)
    model = WindowNet(nn.LayerNorm if healthy else nn.BatchNorm1d)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    with debug(model):
        for step in range(600):
            x = torch.randn(2, 10)
            h = x @ weight / 3
            y = h[:, 0] + torch.tanh(2 * h[:, 1])
            loss = nn.functional.mse_loss(model(x), y)
            (loss / 8).backward()
            losses.append(loss.item())
            if step % 8 == 7:
                optimizer.step()
                optimizer.zero_grad()
    return losses
