"""A denoiser is trained with a gradient scaler. Gradients are clipped to norm one right after the backward pass, with
the scaler's 65536 still on them; after the division the steps are next to nothing. Repair: unscale before clipping."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_clip_scaled_denoiser",
    source="as in github.com/harubaru/waifu-diffusion/issues/64",
    cause="clipping_scaled_gradients",
    also=["learning_rate_too_low"],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class Denoiser(nn.Module):
    def __init__(self, levels: int = 8, width: int = 64) -> None:
        super().__init__()
        self.level = nn.Embedding(levels, width)
        self.enter = nn.Linear(8, width)
        self.middle = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))
        self.leave = nn.Linear(width, 8)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        h = self.enter(x) + self.level(t)
        return self.leave(nn.functional.silu(h + self.middle(h)))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    plane = torch.randn(2, 8)
    model = Denoiser()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu")
    losses = []
    with debug(model):
        for _ in range(300):
            clean = torch.randn(64, 2) @ plane
            t = torch.randint(0, 8, (64,))
            keep = (1 - (t.float() + 1) / 9)[:, None]
            noise = torch.randn_like(clean)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                guess = model(keep.sqrt() * clean + (1 - keep).sqrt() * noise, t)
            loss = nn.functional.mse_loss(guess.float(), noise)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            if healthy:
                scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
    return losses
