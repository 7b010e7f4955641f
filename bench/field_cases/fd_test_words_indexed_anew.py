"""The vocabulary is built with the training texts, and built again with the validation's: the same word has another
number there. Training goes well and validation is worse than chance. Repair: one vocabulary. The list is the
validation loss."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_test_words_indexed_anew",
    source="widely reported: a tokenizer fitted again on the test set",
    cause="validation_mismatch",
    also=[],
    layer=None,
    onset=(0, 80),
    symptom="divergence",
)


class Vocabulary:
    def __init__(self, texts: list[list[str]]) -> None:
        self.number: dict[str, int] = {}
        for text in texts:
            for word in text:
                self.number.setdefault(word, len(self.number))

    def __call__(self, texts: list[list[str]]) -> Tensor:
        return torch.tensor([[self.number.get(word, 0) for word in text] for text in texts])


class Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(40, 16)
        self.conv = nn.Conv1d(16, 24, 3, padding=1)
        self.out = nn.Linear(24, 4)

    def forward(self, ids: Tensor) -> Tensor:
        return self.out(F.relu(self.conv(self.embed(ids).transpose(1, 2))).amax(2))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    topic = torch.randint(0, 4, (700,))
    word = torch.where(
        torch.rand(700, 8) < 0.5,
        topic.unsqueeze(1) * 10 + torch.randint(0, 10, (700, 8)),
        torch.randint(0, 40, (700, 8)),
    )
    texts = [[f"w{w}" for w in row] for row in word.tolist()]
    vocabulary = Vocabulary(texts[:560])
    train = vocabulary(texts[:560])
    valid = vocabulary(texts[560:]) if healthy else Vocabulary(texts[560:])(texts[560:])
    model = Reader()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    validation = []
    with debug(model):
        for _epoch in range(10):
            model.train()
            for rows in torch.randperm(560).split(28):
                loss = F.cross_entropy(model(train[rows]), topic[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                validation.append(F.cross_entropy(model(valid), topic[560:]).item())
    return validation
