"""A forecaster returns (batch, horizon, 1) and the target is (batch, horizon). Batch and horizon are both sixteen,
so that the difference spreads to (16, 16, 16) without a word, in a squared error written by hand. Repair:
squeeze."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fd_horizon_keeps_its_channel",
    source="compare github.com/timeseriesAI/tsai/issues/22",
    cause="loss_shape_mismatch",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class Ahead(nn.Module):
    def __init__(self, horizon: int = 16, width: int = 32) -> None:
        super().__init__()
        self.read = nn.GRU(1, width, batch_first=True)
        self.place = nn.Parameter(0.1 * torch.randn(horizon, width))
        self.write = nn.Linear(width, 1)

    def forward(self, past: Tensor) -> Tensor:
        state = self.read(past)[1][0]
        return self.write(torch.tanh(state.unsqueeze(1) + self.place) + state.unsqueeze(1) * self.place)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Ahead()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    with debug(model):
        for _ in range(300):
            phase, height = 6.28 * torch.rand(16, 1), 0.5 + torch.rand(16, 1)
            wave = height * torch.sin(torch.arange(28.0) / 3 + phase)
            guess, future = model(wave[:, :12].unsqueeze(2)), wave[:, 12:]
            if healthy:
                guess = guess.squeeze(2)
            loss = (guess - future).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append((guess.detach().squeeze(-1) - future).pow(2).mean().item())
    return losses
