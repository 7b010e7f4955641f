"""Float16 autocast with a gradient scaler and clip_grad_value_(0.1) right after backward, before the scaler has
unscaled. Nearly every scaled entry is cut to 0.1 and then divided by some tens of thousands: the steps are a
millionth of what they should be. Repair: unscale, then clip."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_clip_value_before_unscale",
    source="a public report",
    cause="clipping_scaled_gradients",
    also=["learning_rate_too_low"],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class PatchTransformer(nn.Module):
    def __init__(self, width: int = 32, classes: int = 6) -> None:
        super().__init__()
        self.patch = nn.Linear(12, width)
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 64)
        self.down = nn.Linear(64, width)
        self.head = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        h = self.patch(x)
        q, k, v = self.qkv(self.norm1(h)).chunk(3, dim=-1)
        weight = torch.softmax(q @ k.transpose(1, 2) / q.size(-1) ** 0.5, dim=-1)
        h = h + weight.to(v.dtype) @ v
        h = h + self.down(F.gelu(self.up(self.norm2(h))))
        return self.head(h.mean(dim=1))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = PatchTransformer()
    prototype = torch.randn(6, 9, 12)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**15)
    losses = []
    with debug(model):
        for _ in range(200):
            label = torch.randint(0, 6, (24,))
            x = 0.8 * prototype[label] + torch.randn(24, 9, 12)
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16):
                loss = F.cross_entropy(model(x).float(), label)
            scaler.scale(loss).backward()
            if healthy:
                scaler.unscale_(optimizer)
            nn.utils.clip_grad_value_(model.parameters(), 0.1)
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
    return losses
