"""The vocabulary is lower case and the new tokenizer no longer lowers its words, so that every token is looked up as
<unk> and each text of the class is the same row of ones. Repair: lower the words."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_every_word_unknown",
    source="widely reported: a vocabulary that matches no token",
    cause="constant_input",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)

WORDS = ["good", "bad", "fine", "awful", "film", "plot", "actor", "slow", "bright", "dull", "long", "warm"]
MOOD = {"good": 1, "fine": 1, "bright": 1, "warm": 1, "bad": -1, "awful": -1, "slow": -1, "dull": -1}


class Vocabulary:
    def __init__(self, words: list[str]) -> None:
        self.index = {word: number + 2 for number, word in enumerate(words)}  # 0 is padding, 1 is <unk>

    def encode(self, text: list[str]) -> list[int]:
        return [self.index.get(word, 1) for word in text]


class TextConv(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(size, 12, padding_idx=0)
        self.conv = nn.Conv1d(12, 24, 3, padding=1)
        self.out = nn.Linear(24, 2)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.out(torch.relu(self.conv(self.embedding(tokens).transpose(1, 2))).mean(2))


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    texts = [[WORDS[k].capitalize() for k in row] for row in torch.randint(0, len(WORDS), (900, 9)).tolist()]
    label = torch.tensor([int(sum(MOOD.get(word.lower(), 0) for word in text) > 0) for text in texts])
    vocabulary = Vocabulary(WORDS)
    tokens = torch.tensor([vocabulary.encode([w.lower() for w in text] if healthy else text) for text in texts])
    model = TextConv(len(WORDS) + 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    criterion = nn.CrossEntropyLoss()
    losses = []
    with debug(model):
        for _epoch in range(8):
            for rows in torch.randperm(len(label)).split(30):
                optimizer.zero_grad()
                loss = criterion(model(tokens[rows]), label[rows])
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses
