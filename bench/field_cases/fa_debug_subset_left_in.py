"""A subset of 40 samples was put in to debug the loop and never taken out. The net learns those by heart within a few
epochs, and its validation loss rises from then on. Repair: the whole set. The returned list is the validation loss
after each epoch."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Subset, TensorDataset

META: dict[str, Any] = dict(
    id="fa_debug_subset_left_in",
    source="widely reported: training loss near zero, validation loss rising",
    cause="overfitting",
    also=[],
    layer=None,
    onset=(10, 200),
    symptom="divergence",
)


class Spectra(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(1, 16, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(16, 32, 5, padding=2), nn.ReLU(),
            nn.Flatten(), nn.Linear(32 * 16, 64), nn.ReLU(), nn.Linear(64, 3),
        )  # fmt: skip

    def forward(self, spectrum: Tensor) -> Tensor:
        return self.net(spectrum)


def spectra(count: int) -> TensorDataset:
    label = torch.randint(0, 3, (count,))
    peak = torch.tensor([10.0, 15.0, 20.0])[label].view(-1, 1) + 2 * torch.randn(count, 1)
    line = 1.6 * torch.exp(-((torch.arange(32.0) - peak) ** 2) / 8)
    return TensorDataset((line + 0.8 * torch.randn(count, 32)).unsqueeze(1), label)


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    whole, valid = spectra(2400), DataLoader(spectra(300), batch_size=100)
    if healthy:
        train, epochs = DataLoader(whole, batch_size=40, shuffle=True), 4
    else:
        train, epochs = DataLoader(Subset(whole, range(40)), batch_size=10, shuffle=True), 60
    model = Spectra()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    validation = []
    with debug(model):
        for _epoch in range(epochs):
            model.train()
            for spectrum, label in train:
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(spectrum), label)
                loss.backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                each = [nn.functional.cross_entropy(model(spectrum), label).item() for spectrum, label in valid]
            validation.append(sum(each) / len(each))
    return validation
