"""A transformer of ten blocks was written without any normalization: each block adds what it makes of an ever larger
input, and the output is out of range from the first step on. Repair: a layer norm before each part and at the end."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_transformer_without_norm",
    source="widely reported: residual blocks without normalization",
    cause="exploding_depth",
    also=[],
    layer=None,
    onset=(0, 10),
    symptom="divergence",
)


class Block(nn.Module):
    def __init__(self, width: int, norm: bool) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width) if norm else nn.Identity()
        self.norm2 = nn.LayerNorm(width) if norm else nn.Identity()
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))
        for layer in (self.feed[0], self.feed[2]):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        h = self.norm1(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.feed(self.norm2(x))


class SeriesTransformer(nn.Module):
    def __init__(self, norm: bool, width: int = 16, depth: int = 10) -> None:
        super().__init__()
        self.enter = nn.Linear(2, width)
        self.blocks = nn.Sequential(*[Block(width, norm) for _ in range(depth)])
        self.final = nn.LayerNorm(width) if norm else nn.Identity()
        self.leave = nn.Linear(width, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.leave(self.final(self.blocks(self.enter(x))).mean(1)).squeeze(1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = SeriesTransformer(norm=healthy)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    with debug(model):
        for _ in range(130):
            pace = 0.2 + 0.8 * torch.rand(16, 1)
            angle = pace * torch.arange(8.0) + 6.28 * torch.rand(16, 1)
            x = torch.stack([angle.sin(), angle.cos()], 2)
            loss = nn.functional.mse_loss(model(x), 4 * pace[:, 0] - 2.4)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
