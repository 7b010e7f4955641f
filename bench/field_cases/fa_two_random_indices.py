"""A data set draws a random sample in __getitem__ and draws again for the label, so that a sound and its label belong
together by chance only. The loss goes to the entropy of the labels and stays. Repair: draw once."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

META: dict[str, Any] = dict(
    id="fa_two_random_indices",
    source="widely reported: input and target sampled by separate random indices",
    cause="uninformative_labels",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class Tones(Dataset[tuple[Tensor, Tensor]]):
    def __init__(self, count: int, healthy: bool) -> None:
        self.healthy = healthy
        self.label = torch.randint(0, 5, (count,))
        pitch = torch.tensor([0.2, 0.45, 0.8, 1.2, 1.7])[self.label].view(-1, 1)
        phase = 6.28 * torch.rand(count, 1)
        self.sound = (torch.sin(pitch * torch.arange(40.0) + phase) + 0.4 * torch.randn(count, 40)).unsqueeze(1)

    def __len__(self) -> int:
        return len(self.label)

    def __getitem__(self, _index: int) -> tuple[Tensor, Tensor]:
        chosen = int(torch.randint(0, len(self), (1,)))
        sound = self.sound[chosen]
        if not self.healthy:
            chosen = int(torch.randint(0, len(self), (1,)))
        return sound, self.label[chosen]


class ToneNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(1, 12, 9, stride=2),
            nn.BatchNorm1d(12),
            nn.ReLU(),
            nn.Conv1d(12, 16, 5),
            nn.BatchNorm1d(16),
            nn.ReLU(),
        )
        self.fc = nn.Linear(16, 5)

    def forward(self, sound: Tensor) -> Tensor:
        return self.fc(self.conv(sound).amax(2))


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    loader = DataLoader(Tones(800, healthy), batch_size=32)
    model = ToneNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    losses = []
    with debug(model):
        model.train()
        for _epoch in range(8):
            for sound, label in loader:
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(sound), label)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
