"""A net for dense depth runs under float16 autocast without a scaler. The loss is the mean over all pixels of a batch
and weighted by 1e-6, as one of several terms: a pixel's gradient is below the smallest number of float16, and the
gradients of all convolutions are zero. Repair: a gradient scaler."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_dense_depth_without_scaler",
    source="widely reported: float16 autocast without GradScaler",
    cause="half_precision_underflow",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class DepthNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.Conv2d(1, 12, 3, padding=1)
        self.middle = nn.Conv2d(12, 12, 3, padding=1)
        self.decode = nn.Conv2d(12, 1, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        h = nn.functional.silu(self.encode(x))
        return self.decode(h + nn.functional.silu(self.middle(h)))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = DepthNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=6e-3, eps=1e-12)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16, enabled=healthy)
    losses = []
    with debug(model):
        for _ in range(200):
            depth = nn.functional.interpolate(torch.randn(4, 1, 4, 4), size=20, mode="bilinear")
            shade = torch.tanh(1.5 * depth) + 0.1 * torch.randn_like(depth)
            with torch.autocast("cpu", dtype=torch.float16):
                guess = model(shade)
                error = nn.functional.mse_loss(guess.float(), depth)
            optimizer.zero_grad()
            scaler.scale(1e-6 * error).backward()
            scaler.step(optimizer)
            scaler.update()
            losses.append(error.item())
    return losses
