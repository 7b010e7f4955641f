"""validate() forgets model.eval() and runs over the validation set patient by patient: half of the units are dropped,
and batch norm takes its statistics from one patient's few visits, which removes what tells patients apart. Training is
fine. Repair: model.eval(). The returned list is the validation loss after each epoch."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

META: dict[str, Any] = dict(
    id="fa_validated_in_train_mode",
    source="as in github.com/wolny/pytorch-3dunet/issues/53 and github.com/microsoft/robustdg/issues/30",
    cause="validation_mismatch",
    also=["batchnorm_small_batch"],
    layer=None,
    onset=(0, 60),
    symptom="divergence",
)


class Patient(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Dropout(0.4))
        self.risk = nn.Linear(48, 3)

    def forward(self, visits: Tensor) -> Tensor:
        return self.risk(self.body(visits))


def visits(patients: int, each: int, direction: Tensor) -> tuple[Tensor, Tensor]:
    group = torch.randint(0, 3, (patients,))
    visit = direction[group].unsqueeze(1) + 0.6 * torch.randn(patients, each, 10)
    return visit, group.unsqueeze(1).expand(-1, each)


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    direction = torch.randn(3, 10)
    visit, group = visits(300, 4, direction)
    train = DataLoader(TensorDataset(visit.flatten(0, 1), group.flatten()), batch_size=30, shuffle=True)
    patient_visits, patient_group = visits(40, 4, direction)
    model = Patient()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    validation = []
    with debug(model):
        for _epoch in range(6):
            model.train()
            for batch, label in train:
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(batch), label)
                loss.backward()
                optimizer.step()
            if healthy:
                model.eval()
            with torch.no_grad():
                each = [nn.functional.cross_entropy(model(v), g).item() for v, g in zip(patient_visits, patient_group)]
            validation.append(sum(each) / len(each))
    return validation
