"""A dataset reads each image from disk in the first epoch, normalizes it and fills a cache on the way, with the raw
image in it. From the second epoch on the cache answers, and the net that has learnt from values around zero gets
values up to 255. Repair: cache the normalized image."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

META = dict(
    id="fc_cache_keeps_raw_image",
    source="widely reported: a cache in front of the transforms",
    cause="input_shift",
    also=["unnormalized_input"],
    layer=None,
    onset=(60, 64),
    symptom="loss_spike",
)


class Textures(Dataset):
    def __init__(self, pattern: Tensor, count: int, cache_normalized: bool) -> None:
        self.label = torch.randint(0, len(pattern), (count,))
        self.disk = (120 + 30 * pattern[self.label] + 25 * torch.randn(count, 1, 10, 10)).clamp(0, 255)
        self.cache: dict[int, Tensor] = {}
        self.cache_normalized = cache_normalized

    def __len__(self) -> int:
        return len(self.label)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        if index in self.cache:
            return self.cache[index], self.label[index]
        raw = self.disk[index]
        normalized = (raw - 120) / 40
        self.cache[index] = normalized if self.cache_normalized else raw
        return normalized, self.label[index]


class TextureNet(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 16, 3, stride=2, padding=1)
        self.fc = nn.Linear(16 * 25, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.relu(self.conv1(x))
        x = nn.functional.relu(self.conv2(x))
        return self.fc(x.flatten(1))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    pattern = nn.functional.avg_pool2d(torch.randn(5, 1, 10, 10), 3, 1, 1) * 2
    loader = DataLoader(Textures(pattern, 960, healthy), batch_size=16, shuffle=True)
    model = TextureNet(5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    losses = []
    with debug(model):
        for _epoch in range(4):
            for image, label in loader:
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(image), label)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
