"""A word model ends in a softmax over its thirty words, and the loss takes logits. The loss cannot come below 2.4 even
for a perfect answer, and the double softmax leaves almost no slope. Repair: give logits."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_word_model_gives_probabilities",
    source="as in discuss.pytorch.org/t/cross-entropy-loss-is-not-decreasing/43814",
    cause="redundant_softmax",
    also=[],
    layer=["softmax", ""],
    onset=(0, 0),
    symptom="loss_plateau",
)


class NextWord(nn.Module):
    def __init__(self, words: int, probabilities: bool) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, 24)
        self.hidden = nn.Linear(72, 48)
        self.decode = nn.Linear(48, words)
        self.softmax = nn.Softmax(dim=-1) if probabilities else nn.Identity()

    def forward(self, context: Tensor) -> Tensor:
        h = torch.tanh(self.hidden(self.embed(context).flatten(1)))
        return self.softmax(self.decode(h))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    follows = torch.randperm(30)
    model = NextWord(30, probabilities=not healthy)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    criterion = nn.CrossEntropyLoss()
    losses = []
    with debug(model):
        for _ in range(220):
            context = torch.randint(0, 30, (64, 3))
            optimizer.zero_grad()
            loss = criterion(model(context), follows[context[:, -1]])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
