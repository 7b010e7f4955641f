"""Healthy. Mixup, noise and dropped patches while training: the training loss stays high above the validation loss,
which falls to nearly nothing. The returned list is the validation loss after every tenth step."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_ok_mixup_augmentation",
    source="a common practice",
    cause="none",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="none",
)


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 16, 3, padding=1)
        self.dropout = nn.Dropout(0.3)
        self.fc = nn.Linear(16 * 9, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = nn.functional.max_pool2d(torch.relu(self.conv2(x)), 2)
        return self.fc(self.dropout(x.flatten(1)))


def mixed(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    share = torch.distributions.Beta(1.0, 1.0).sample((len(x), 1))
    other = torch.randperm(len(x))
    x = share.view(-1, 1, 1, 1) * x + (1 - share.view(-1, 1, 1, 1)) * x[other]
    x = x * (torch.rand(len(x), 1, 3, 3) > 0.15).float().repeat_interleave(4, 2).repeat_interleave(4, 3)
    return x + 0.3 * torch.randn_like(x), share * y + (1 - share) * y[other]


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    shape = nn.functional.avg_pool2d(torch.randn(4, 1, 12, 12), 3, 1, 1) * 3
    label = torch.randint(0, 4, (700,))
    image = shape[label] + 0.4 * torch.randn(700, 1, 12, 12)
    soft = nn.functional.one_hot(label, 4).float()
    model = Small()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    validation = []
    with debug(model):
        for step in range(240):
            model.train()
            rows = torch.randint(0, 600, (32,))
            x, y = mixed(image[rows], soft[rows])
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 10 == 9:
                model.eval()
                with torch.no_grad():
                    validation.append(nn.functional.cross_entropy(model(image[600:]), label[600:]).item())
    return validation
