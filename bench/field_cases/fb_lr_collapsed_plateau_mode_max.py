"""ReduceLROnPlateau is given the validation loss with mode="max", which was meant for accuracy. Each epoch in which the
loss falls counts as a bad one, so the rate is cut every second epoch and the run freezes half way down. Repair:
mode="min"."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_lr_collapsed_plateau_mode_max",
    source="a public report",
    cause="learning_rate_collapsed",
    also=["learning_rate_too_low"],
    layer=None,
    onset=(20, 140),
    symptom="loss_plateau",
)


class Spectrogram(nn.Module):
    def __init__(self, classes: int = 5) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(12, 24, 5, padding=2)
        self.norm1 = nn.GroupNorm(4, 24)
        self.conv2 = nn.Conv1d(24, 24, 5, padding=2, stride=2)
        self.norm2 = nn.GroupNorm(4, 24)
        self.head = nn.Linear(24, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = F.silu(self.norm1(self.conv1(x)))
        x = F.silu(self.norm2(self.conv2(x)))
        return self.head(x.amax(dim=2))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    motif = torch.randn(5, 12, 6)

    def draw(count: int) -> tuple[Tensor, Tensor]:
        label = torch.randint(0, 5, (count,))
        sound = torch.randn(count, 12, 24)
        start = torch.randint(0, 18, (count,))
        for i in range(count):
            sound[i, :, start[i] : start[i] + 6] += 0.7 * motif[label[i]]
        return sound, label

    model = Spectrogram()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.004, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, mode="min" if healthy else "max", factor=0.1, patience=1
    )
    held_out = draw(96)
    losses = []
    with debug(model):
        for _ in range(15):
            model.train()
            for _ in range(20):
                sound, label = draw(16)
                loss = F.cross_entropy(model(sound), label)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            model.eval()
            with torch.no_grad():
                validation = F.cross_entropy(model(held_out[0]), held_out[1])
            scheduler.step(validation)
    return losses
