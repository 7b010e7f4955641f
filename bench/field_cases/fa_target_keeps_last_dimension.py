"""The data set returns targets of shape (N, 1), the model squeezes its output to (N,), and nn.MSELoss compares every
prediction with every target, with a warning that scrolls away. Repair: squeeze the target."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

META: dict[str, Any] = dict(
    id="fa_target_keeps_last_dimension",
    source="as in github.com/deepset-ai/FARM/issues/229 and github.com/timeseriesAI/tsai/issues/22",
    cause="loss_shape_mismatch",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class TextRegressor(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 24)
        self.mixer = nn.Sequential(nn.LayerNorm(24), nn.Linear(24, 48), nn.GELU(), nn.Linear(48, 24))
        self.regression_head = nn.Linear(24, 1)

    def forward(self, tokens: Tensor) -> Tensor:
        hidden = self.embed(tokens)
        return self.regression_head((hidden + self.mixer(hidden)).mean(1)).squeeze(-1)


class Regression:
    """Fits, and validates after every epoch."""

    def __init__(self, model: nn.Module, healthy: bool) -> None:
        self.model, self.healthy = model, healthy
        self.criterion = nn.MSELoss()
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)

    def loss(self, tokens: Tensor, score: Tensor) -> Tensor:
        return self.criterion(self.model(tokens), score.squeeze(-1) if self.healthy else score)

    def fit(self, train: DataLoader[Any], valid: DataLoader[Any], epochs: int) -> list[float]:
        losses = []
        for _epoch in range(epochs):
            self.model.train()
            for tokens, score in train:
                self.optimizer.zero_grad()
                loss = self.loss(tokens, score)
                loss.backward()
                self.optimizer.step()
                losses.append(loss.item())
            self.model.eval()
            with torch.no_grad():
                for tokens, score in valid:
                    self.loss(tokens, score)
        return losses


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    worth = torch.randn(50)
    tokens = torch.randint(0, 50, (1600, 8))
    score = (worth[tokens].sum(1, keepdim=True) / 2.8) + 0.1 * torch.randn(1600, 1)
    train = DataLoader(TensorDataset(tokens[:1280], score[:1280]), batch_size=32, shuffle=True)
    valid = DataLoader(TensorDataset(tokens[1280:], score[1280:]), batch_size=64)
    model = TextRegressor()
    with debug(model):
        return Regression(model, healthy).fit(train, valid, epochs=6)
