"""A trainer with callbacks. The one that keeps the best model runs the validation in eval mode after the first epoch
and leaves it so; dropout is off from then on, the net learns its 160 examples by heart, and the validation loss
climbs. Repair: train mode again. The list is the validation loss of each epoch."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_checkpoint_callback_leaves_eval",
    source="compare github.com/MILVLG/mcan-vqa/issues/26",
    cause="eval_mode_in_training",
    also=["overfitting"],
    layer=["", "drop1", "drop2"],
    onset=(4, 12),
    symptom="divergence",
)


class Wide(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.drop1 = nn.Linear(40, 128), nn.Dropout(0.7)
        self.second, self.drop2 = nn.Linear(128, 128), nn.Dropout(0.7)
        self.out = nn.Linear(128, 2)

    def forward(self, x: Tensor) -> Tensor:
        h = self.drop1(F.relu(self.first(x)))
        return self.out(self.drop2(F.relu(self.second(h))))


class Trainer:
    def __init__(self, model: nn.Module, callbacks: list[Callable]) -> None:
        self.model, self.callbacks = model, callbacks
        self.optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def fit(self, x: Tensor, y: Tensor, epochs: int) -> None:
        self.model.train()
        for _epoch in range(epochs):
            for rows in torch.randperm(len(y)).split(20):
                self.optimizer.zero_grad()
                F.cross_entropy(self.model(x[rows]), y[rows]).backward()
                self.optimizer.step()
            for callback in self.callbacks:
                callback(self.model)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    x = torch.randn(460, 40)
    y = (x[:, :4].sum(1) + 1.5 * torch.randn(460) > 0).long()
    model = Wide()
    validation = []

    def keep_best(model: nn.Module) -> None:
        model.eval()
        with torch.no_grad():
            validation.append(F.cross_entropy(model(x[160:]), y[160:]).item())
        if healthy:
            model.train()

    with debug(model):
        Trainer(model, [keep_best]).fit(x[:160], y[:160], 13)
    return validation
