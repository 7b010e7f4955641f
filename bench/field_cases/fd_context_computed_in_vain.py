"""The decoder computes its attention and then reads its own state alone: the context was left out of the
concatenation when the layer's size was changed. What lies before the last word cannot be looked up. Repair: state
and context."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_context_computed_in_vain",
    source="widely reported: an attention context that is computed and never used",
    cause="unused_parameters",
    also=[],
    layer=["query", "key", "mix"],
    onset=(0, 0),
    symptom="slow",
)


class Lookup(nn.Module):
    """Reads pairs of a key and a value, then a key, and should answer with the value."""

    def __init__(self, use_context: bool, symbols: int = 10, width: int = 24) -> None:
        super().__init__()
        self.embed = nn.Embedding(symbols, width)
        self.value = nn.Embedding(symbols, width)
        self.rnn = nn.GRU(2 * width, width, batch_first=True)
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.mix = nn.Linear(2 * width, width)
        self.out = nn.Linear(width, symbols)
        self.use_context = use_context

    def forward(self, keys: Tensor, values: Tensor, asked: Tensor) -> Tensor:
        pairs = torch.cat([self.embed(keys), self.value(values)], 2)
        memory, state = self.rnn(pairs)
        state = state[0] + self.embed(asked)
        share = (self.key(self.embed(keys)) @ self.query(self.embed(asked)).unsqueeze(2) / 5).softmax(1)
        context = (share * (memory + self.value(values))).sum(1)
        mixed = torch.tanh(self.mix(torch.cat([state, context], 1)))
        return self.out(mixed if self.use_context else state)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Lookup(use_context=healthy)
    optimizer = torch.optim.Adam(model.parameters(), lr=8e-3)
    losses = []
    with debug(model):
        for _ in range(350):
            keys = torch.rand(48, 10).argsort(1)[:, :6]
            values = torch.randint(0, 10, (48, 6))
            place = torch.randint(0, 6, (48, 1))
            logits = model(keys, values, keys.gather(1, place).squeeze(1))
            loss = F.cross_entropy(logits, values.gather(1, place).squeeze(1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
