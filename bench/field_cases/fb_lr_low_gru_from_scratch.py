"""A GRU text classifier trained from scratch with AdamW at 2e-6, a rate copied from a fine-tuning guide for pretrained
models. The model returns an output object with a loss, as library models do. After five epochs the loss has moved in
its third digit. Repair: 5e-3."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

META = dict(
    id="fb_lr_low_gru_from_scratch",
    source="a public report",
    cause="learning_rate_too_low",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="slow",
)


@dataclass
class Output:
    loss: Tensor
    logits: Tensor


class GruForClassification(nn.Module):
    def __init__(self, words: int = 60, width: int = 24, classes: int = 4) -> None:
        super().__init__()
        self.embeddings = nn.Embedding(words, width)
        self.gru = nn.GRU(width, width, batch_first=True)
        self.classifier = nn.Linear(width, classes)

    def forward(self, input_ids: Tensor, labels: Tensor) -> Output:
        states, _ = self.gru(self.embeddings(input_ids))
        logits = self.classifier(states.mean(dim=1))
        return Output(F.cross_entropy(logits, labels), logits)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    topic = torch.randint(0, 4, (60,))
    ids = torch.randint(0, 60, (960, 10))
    votes = F.one_hot(topic[ids], 4).sum(1).float() + 0.01 * torch.rand(960, 4)
    loader = DataLoader(TensorDataset(ids, votes.argmax(1)), batch_size=16, shuffle=True)
    model = GruForClassification()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3 if healthy else 2e-6)
    losses = []
    with debug(model):
        for _ in range(5):
            for input_ids, labels in loader:
                output = model(input_ids=input_ids, labels=labels)
                output.loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                losses.append(output.loss.item())
    return losses
