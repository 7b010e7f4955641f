"""A trainer steps only when its gradients pass a check, and the check answers with 'found something bad' where the
caller expects 'all good': healthy gradients are always skipped. Repair: negate it."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_inverted_gradient_guard",
    source="compare github.com/emo-box/EmoBox/issues/12",
    cause="missing_optimizer_step",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class EmotionNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(12)
        self.rnn = nn.RNN(12, 24, nonlinearity="tanh", batch_first=True)
        self.attention = nn.Linear(24, 1)
        self.head = nn.Linear(24, 4)

    def forward(self, speech: Tensor) -> Tensor:
        states, _ = self.rnn(self.norm(speech))
        weight = torch.softmax(self.attention(states), dim=1)
        return self.head((weight * states).sum(1))


class Trainer:
    def __init__(self, model: nn.Module, healthy: bool) -> None:
        self.model, self.healthy = model, healthy
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
        self.criterion = nn.CrossEntropyLoss()

    def check_gradients(self) -> bool:
        bad = any(not bool(p.grad.isfinite().all()) for p in self.model.parameters() if p.grad is not None)
        return not bad if self.healthy else bad

    def train_step(self, speech: Tensor, emotion: Tensor) -> float:
        self.optimizer.zero_grad()
        loss = self.criterion(self.model(speech), emotion)
        loss.backward()
        if self.check_gradients():
            self.optimizer.step()
        return loss.item()


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    tone = torch.randn(4, 1, 12)
    emotion = torch.randint(0, 4, (600,))
    speech = 0.6 * tone[emotion] + torch.randn(600, 10, 12)
    model = EmotionNet()
    trainer = Trainer(model, healthy)
    with debug(model):
        return [trainer.train_step(speech[rows], emotion[rows]) for rows in torch.randint(0, 600, (200, 24))]
