"""The validation texts get a vocabulary of their own, numbered by first appearance in them. To the model each number is
another word: training goes well, validation is at chance and worse. Repair: the training vocabulary. The returned list
is the validation loss after each epoch."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_vocabulary_built_twice",
    source="widely reported: the tokenizer fitted again on the validation texts",
    cause="validation_mismatch",
    also=["overfitting"],
    layer=None,
    onset=(0, 80),
    symptom="divergence",
)


class Vocabulary:
    def __init__(self, texts: list[list[str]]) -> None:
        self.number: dict[str, int] = {}
        for text in texts:
            for word in text:
                self.number.setdefault(word, len(self.number) + 1)

    def encode(self, texts: list[list[str]]) -> Tensor:
        return torch.tensor([[self.number.get(word, 0) for word in text] for text in texts])


class Topics(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.EmbeddingBag(101, 16, mode="mean")
        self.out = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 4))

    def forward(self, ids: Tensor) -> Tensor:
        return self.out(self.embed(ids))


def corpus(count: int, topic_words: Tensor) -> tuple[list[list[str]], Tensor]:
    topic = torch.randint(0, 4, (count,))
    own = torch.gather(topic_words[topic], 1, torch.randint(0, topic_words.shape[1], (count, 4)))
    any_word = torch.randint(0, 100, (count, 4))
    words = torch.cat([own, any_word], 1)[:, torch.randperm(8)]
    return [[f"w{i}" for i in row] for row in words.tolist()], topic


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    topic_words = torch.randperm(100)[:80].view(4, 20)
    train_texts, train_topic = corpus(600, topic_words)
    valid_texts, valid_topic = corpus(200, topic_words)
    vocabulary = Vocabulary(train_texts)
    train_ids = vocabulary.encode(train_texts)
    valid_ids = (vocabulary if healthy else Vocabulary(valid_texts)).encode(valid_texts)
    model = Topics()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    validation = []
    with debug(model):
        for _epoch in range(8):
            model.train()
            for rows in torch.randperm(600).split(30):
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(train_ids[rows]), train_topic[rows]).backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                validation.append(nn.functional.cross_entropy(model(valid_ids), valid_topic).item())
    return validation
