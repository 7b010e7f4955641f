"""A custom function clamps the features for the export and returns None as the gradient of its input, as one does
for the bounds. All below it stands still. Repair: pass the gradient on inside of the bounds."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_backward_returns_none",
    source="widely reported: a custom autograd.Function that returns None for its input",
    cause="detached_graph",
    also=[],
    layer=["features", "features.0", "features.2", "clamp"],
    onset=(0, 0),
    symptom="slow",
)


class Clamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor, bound: float, passes: bool) -> Tensor:
        ctx.save_for_backward(x)
        ctx.bound, ctx.passes = bound, passes
        return x.clamp(-bound, bound)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple:
        (x,) = ctx.saved_tensors
        if not ctx.passes:
            return None, None, None
        return gradient * (x.abs() <= ctx.bound), None, None


class ClampLayer(nn.Module):
    def __init__(self, passes: bool) -> None:
        super().__init__()
        self.passes = passes

    def forward(self, x: Tensor) -> Tensor:
        return Clamp.apply(x, 6.0, self.passes)


class Listener(nn.Module):
    def __init__(self, passes: bool) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Conv1d(1, 6, 9, padding=4), nn.ReLU(), nn.Conv1d(6, 6, 9, padding=4))
        self.clamp = ClampLayer(passes)
        self.classify = nn.Linear(6, 4)

    def forward(self, wave: Tensor) -> Tensor:
        return self.classify(self.clamp(self.features(wave)).square().mean(2))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Listener(passes=healthy)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    frequency = torch.tensor([0.35, 0.55, 0.8, 1.2])
    losses = []
    with debug(model):
        for _ in range(300):
            label = torch.randint(0, 4, (32,))
            phase = 6.28 * torch.rand(32, 1)
            wave = (frequency[label].unsqueeze(1) * torch.arange(48.0) + phase).sin() + 0.8 * torch.randn(32, 48)
            loss = F.cross_entropy(model(wave.unsqueeze(1)), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
