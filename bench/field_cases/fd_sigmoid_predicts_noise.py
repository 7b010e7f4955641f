"""A denoiser that was taken from an image-to-image model and kept its last sigmoid, while it has to predict Gaussian
noise: half of the targets are negative. Repair: no activation at the end."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_sigmoid_predicts_noise",
    source="widely reported: a diffusion model whose last layer is a sigmoid or tanh",
    cause="wrong_output_activation",
    also=[],
    layer=["", "last"],
    onset=(0, 0),
    symptom="loss_plateau",
)


class Denoiser(nn.Module):
    def __init__(self, last: nn.Module) -> None:
        super().__init__()
        self.time = nn.Linear(1, 12)
        self.enter = nn.Conv1d(1, 12, 5, padding=2)
        self.middle = nn.Conv1d(12, 12, 5, padding=2)
        self.leave = nn.Conv1d(12, 1, 5, padding=2)
        self.last = last

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        h = F.silu(self.enter(x) + self.time(t).unsqueeze(2))
        h = h + F.silu(self.middle(h))
        return self.last(self.leave(h))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Denoiser(nn.Identity() if healthy else nn.Sigmoid())
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    losses = []
    with debug(model):
        for _ in range(250):
            phase = 6.28 * torch.rand(24, 1, 1)
            clean = torch.sin(torch.arange(32.0) / 4 + phase)
            t = torch.rand(24, 1)
            noise = torch.randn(24, 1, 32)
            kept = (1 - 0.9 * t).unsqueeze(2)
            loss = F.mse_loss(model(kept.sqrt() * clean + (1 - kept).sqrt() * noise, t), noise)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
