"""A net that tells textures apart by the Gram matrix of its features. Under float16 autocast the matrix product over
all places sums to more than 65504 before it's divided by their number. Repair: divide the features first."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_gram_matrix_in_half",
    source="widely reported: a Gram matrix overflows under mixed precision",
    cause="half_precision_overflow",
    also=[],
    layer=["", "convs", "convs.0", "convs.2", "gram", "head"],
    onset=(0, 60),
    symptom="loss_nan",
)


class Gram(nn.Module):
    def __init__(self, divide_first: bool) -> None:
        super().__init__()
        self.divide_first = divide_first

    def forward(self, h: Tensor) -> Tensor:
        h = h.flatten(2)
        places = h.shape[2]
        if self.divide_first:
            h = h / places**0.5
            return torch.bmm(h, h.transpose(1, 2))
        return torch.bmm(h, h.transpose(1, 2)) / places


class Texture(nn.Module):
    def __init__(self, divide_first: bool) -> None:
        super().__init__()
        self.convs = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1))
        self.gram = Gram(divide_first)
        self.head = nn.Linear(64, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.log1p(self.gram(self.convs(x)).flatten(1).float().relu()))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Texture(divide_first=healthy)
    with torch.no_grad():
        model.convs[2].weight.mul_(30)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    kernel = torch.randn(3, 1, 3, 3)
    losses = []
    with debug(model):
        for _ in range(150):
            label = torch.randint(0, 3, (12,))
            noise = torch.randn(12, 1, 26, 26)
            x = torch.cat([F.conv2d(n[None], kernel[k][None]) for n, k in zip(noise, label)])
            x = x / x.std((2, 3), keepdim=True)
            with torch.autocast("cpu", dtype=torch.float16):
                logits = model(x)
            loss = F.cross_entropy(logits.float(), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
