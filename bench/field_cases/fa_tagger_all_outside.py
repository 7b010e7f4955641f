"""Named-entity tagging where 94 of 100 tokens carry the tag 'outside' and the context is ambiguous: the recurrent
tagger answers 'outside' for every token. Repair: weights by tag. The returned list is the cross-entropy averaged over
the tags."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

META: dict[str, Any] = dict(
    id="fa_tagger_all_outside",
    source="widely reported: a tagger that answers O for every token",
    cause="class_imbalance",
    also=[],
    layer=None,
    onset=(0, 0),
    symptom="loss_plateau",
)


@dataclass
class TaggerOutput:
    loss: Tensor
    logits: Tensor


class Tagger(nn.Module):
    def __init__(self, words: int, tags: int, tag_weight: Tensor | None) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, 16)
        self.lstm = nn.LSTM(16, 16, batch_first=True, bidirectional=True)
        self.classifier = nn.Linear(32, tags)
        self.loss_function = nn.CrossEntropyLoss(weight=tag_weight)

    def forward(self, tokens: Tensor, labels: Tensor) -> TaggerOutput:
        logits = self.classifier(self.lstm(self.embed(tokens))[0])
        return TaggerOutput(self.loss_function(logits.flatten(0, 1), labels.flatten()), logits)


def sentences(count: int) -> tuple[Tensor, Tensor]:
    tags = (torch.rand(count, 12) < 0.06).long() * torch.randint(1, 4, (count, 12))
    own = 10 * tags + torch.randint(0, 10, (count, 12))
    anything = torch.randint(0, 40, (count, 12))
    return torch.where(torch.rand(count, 12) < 0.65, own, anything), tags


def run(seed: int, healthy: bool, debug: Callable[[nn.Module], Any]) -> list[float]:
    torch.manual_seed(seed)
    tokens, tags = sentences(1500)
    share = torch.bincount(tags.flatten(), minlength=4) / tags.numel()
    model = Tagger(40, 4, tag_weight=1 / (4 * share) if healthy else None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    balanced = []
    with debug(model):
        for _step in range(250):
            rows = torch.randint(0, len(tokens), (32,))
            optimizer.zero_grad()
            output = model(tokens[rows], labels=tags[rows])
            output.loss.backward()
            optimizer.step()
            each = nn.functional.cross_entropy(
                output.logits.detach().flatten(0, 1), tags[rows].flatten(), reduction="none"
            )
            present = tags[rows].unique().tolist()
            balanced.append(sum(each[tags[rows].flatten() == tag].mean().item() for tag in present) / len(present))
    return balanced
