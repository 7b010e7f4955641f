"""Gradients are accumulated over 32 batches, the counter starts anew each epoch, and an epoch has 20 batches. The
condition for a step is never met; at each epoch's start the gradients are cleared. Repair: accumulate over two."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

META = dict(
    id="fc_accumulates_past_the_epoch",
    source="as in github.com/huggingface/transformers/issues/2995",
    cause="missing_optimizer_step",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class SpeechCommand(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(6, 16, 3, padding=1), nn.BatchNorm1d(16), nn.SiLU(),
            nn.Conv1d(16, 24, 3, stride=2, padding=1), nn.BatchNorm1d(24), nn.SiLU(), nn.AdaptiveAvgPool1d(4),
        )  # fmt: skip
        self.word = nn.Linear(96, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.word(self.net(x).flatten(1))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    word = torch.randn(5, 6, 16)
    label = torch.randint(0, 5, (320,))
    loader = DataLoader(
        TensorDataset(word[label] + 1.2 * torch.randn(320, 6, 16), label), batch_size=16, shuffle=True
    )
    model = SpeechCommand()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    accumulate = 2 if healthy else 32
    losses = []
    with debug(model):
        for _epoch in range(12):
            optimizer.zero_grad()
            for i, (x, y) in enumerate(loader):
                loss = nn.functional.cross_entropy(model(x), y)
                (loss / accumulate).backward()
                losses.append(loss.item())
                if (i + 1) % accumulate == 0:
                    optimizer.step()
                    optimizer.zero_grad()
    return losses
