"""The recordings lie in one file, sensor after sensor, and each sensor watches one fault of the machine. The loader
does not shuffle: for fifteen batches there is one class, then the next. Repair: shuffle. The returned list is the
loss over a twelfth of all recordings after each step."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

META = dict(
    id="fd_sensor_after_sensor",
    source="widely reported: a data set stored class by class and shuffle=False",
    cause="unshuffled_data",
    also=[],
    layer=None,
    onset=(0, 40),
    symptom="divergence",
)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    fault = torch.arange(4).repeat_interleave(360)
    tone = torch.randn(4, 1, 40)
    sound = 0.22 * tone[fault] + 0.8 * torch.randn(1440, 1, 40)
    loader = DataLoader(TensorDataset(sound, fault), batch_size=24, shuffle=healthy)
    model = nn.Sequential(
        nn.Conv1d(1, 12, 7, stride=2, padding=3), nn.GroupNorm(3, 12), nn.SiLU(),
        nn.Conv1d(12, 24, 5, stride=2, padding=2), nn.GroupNorm(3, 24), nn.SiLU(),
        nn.Flatten(), nn.Linear(240, 4),
    )  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    balanced = []
    with debug(model):
        for _epoch in range(5):
            for batch, label in loader:
                optimizer.zero_grad()
                loss = F.cross_entropy(model(batch), label)
                loss.backward()
                optimizer.step()
                with torch.no_grad():
                    balanced.append(F.cross_entropy(model(sound[::12]), fault[::12]).item())
    return balanced
