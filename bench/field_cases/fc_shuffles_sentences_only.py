"""Before every epoch a chatbot's training script shuffles the sentences and leaves the list of intents as it is. Each
sentence carries some other sentence's intent, another one each epoch. Repair: one permutation for both."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fc_shuffles_sentences_only",
    source="as in github.com/DrexelChatbotGroup/DrexelChatbot/issues/15",
    cause="uninformative_labels",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


class IntentNet(nn.Module):
    def __init__(self, words: int, intents: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, 24)
        self.conv = nn.Conv1d(24, 32, 3, padding=1)
        self.out = nn.Linear(32, intents)

    def forward(self, ids: Tensor) -> Tensor:
        h = torch.relu(self.conv(self.embedding(ids).transpose(1, 2)))
        return self.out(h.amax(2))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    sentences = torch.randint(0, 120, (900, 7))
    intents = torch.randint(0, 6, (900,))
    keyword = torch.arange(18).view(6, 3)
    at = torch.randint(0, 7, (900,))
    sentences[torch.arange(900), at] = keyword[intents, torch.randint(0, 3, (900,))]
    model = IntentNet(120, 6)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    history = []
    with debug(model):
        for _epoch in range(10):
            order = torch.randperm(900)
            sentences = sentences[order]
            if healthy:
                intents = intents[order]
            for i in range(0, 900, 30):
                logits = model(sentences[i : i + 30])
                loss = criterion(logits, intents[i : i + 30])
                model.zero_grad()
                loss.backward()
                optimizer.step()
                history.append(loss.item())
    return history
