"""A network in float16 with its own root-mean-square norm that squares its input in the input's type. Features of about
300 square to more than 65504: the mean is infinite and the norm gives zeros for that row, forward and backward.
Nothing is ever NaN; as the features grow, more rows are lost, and the loss, which had fallen well, climbs back.
Repair: square in float32."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_half_overflow_rms_norm",
    source="a public report",
    cause="half_precision_overflow",
    also=[],
    layer=["norm", "spread", ""],
    onset=(3, 60),
    symptom="divergence",
)


class RmsNorm(nn.Module):
    def __init__(self, width: int, upcast: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.upcast = upcast

    def forward(self, x: Tensor) -> Tensor:
        y = x.float() if self.upcast else x
        scale = torch.rsqrt(y.pow(2).mean(dim=-1, keepdim=True) + 1e-5)
        return (y * scale).to(x.dtype) * self.weight.to(x.dtype)


class Spread(nn.Module):
    """Two projections whose product is normalized, as in a gated feed-forward layer."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, width)
        self.value = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        return F.softplus(self.gate(x)) * self.value(x)


class GatedNet(nn.Module):
    def __init__(self, upcast: bool, width: int = 48) -> None:
        super().__init__()
        self.lift = nn.Linear(10, width)
        self.spread = Spread(width)
        self.norm = RmsNorm(width, upcast)
        self.head = nn.Linear(width, 4)
        with torch.no_grad():
            self.lift.weight.mul_(10.0)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.norm(self.spread(self.lift(x))))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = GatedNet(upcast=healthy)
    centre = torch.randn(4, 10)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    with debug(model):
        for _ in range(250):
            label = torch.randint(0, 4, (32,))
            x = centre[label] + 0.9 * torch.randn(32, 10)
            with torch.autocast("cpu", dtype=torch.float16):
                logits = model(x)
            loss = F.cross_entropy(logits.float(), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
