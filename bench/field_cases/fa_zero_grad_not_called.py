"""The loop of a keyword spotter reads `optimizer.zero_grad` without the parentheses: the method is looked up and never
called, so that each step applies the sum of all gradients so far. Repair: call it."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

META: dict[str, Any] = dict(
    id="fa_zero_grad_not_called",
    source="compare github.com/wenet-e2e/wekws/pull/73 and github.com/snakers4/silero-vad/pull/699",
    cause="missing_zero_grad",
    also=[],
    layer=None,
    onset=(0, 2),
    symptom="divergence",
)


class Spotter(nn.Module):
    def __init__(self, mel: int = 10, keywords: int = 4) -> None:
        super().__init__()
        self.subsample = nn.Linear(mel, 24)
        self.memory = nn.Conv1d(24, 24, 5, padding=2, groups=24)
        self.mix = nn.Linear(24, 24)
        self.spot = nn.Linear(24, keywords)

    def forward(self, frames: Tensor) -> Tensor:
        hidden = torch.relu(self.subsample(frames))
        hidden = hidden + self.memory(hidden.transpose(1, 2)).transpose(1, 2)
        return self.spot(torch.relu(self.mix(hidden)).mean(1))


def utterances(count: int) -> TensorDataset:
    template = torch.randn(4, 16, 10)
    label = torch.randint(0, 4, (count,))
    return TensorDataset(0.9 * template[label] + torch.randn(count, 16, 10), label)


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    loader = DataLoader(utterances(960), batch_size=32, shuffle=True)
    model = Spotter()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    criterion = nn.CrossEntropyLoss()
    losses = []
    with debug(model):
        for _epoch in range(10):
            for frames, keyword in loader:
                loss = criterion(model(frames), keyword)
                if healthy:
                    optimizer.zero_grad()
                else:
                    optimizer.zero_grad  # noqa: B018 - the fault itself
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 50.0)
                optimizer.step()
                losses.append(loss.item())
    return losses
