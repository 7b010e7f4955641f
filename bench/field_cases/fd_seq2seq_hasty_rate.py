"""A small encoder and decoder with additive attention learns to turn sequences round. The rate of 0.06 suits the
embeddings, thought the author, and the loss stays where it was after the first steps. Repair: 0.003."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_seq2seq_hasty_rate",
    source="widely reported: a recurrent encoder-decoder whose loss stalls at a large rate",
    cause="learning_rate_too_high",
    also=[],
    layer=None,
    onset=(0, 60),
    symptom="loss_plateau",
)


class Reverser(nn.Module):
    def __init__(self, words: int = 12, width: int = 40) -> None:
        super().__init__()
        self.embed = nn.Embedding(words + 1, width)
        self.encoder = nn.GRU(width, width, batch_first=True)
        self.decoder = nn.GRUCell(2 * width, width)
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.energy = nn.Linear(width, 1)
        self.out = nn.Linear(2 * width, words)
        self.start = words

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        memory, state = self.encoder(self.embed(source))
        state, keys = state[0], self.key(memory)
        previous = torch.cat([torch.full_like(target[:, :1], self.start), target[:, :-1]], 1)
        logits = []
        for word in self.embed(previous).unbind(1):
            share = self.energy(torch.tanh(keys + self.query(state).unsqueeze(1))).softmax(1)
            context = (share * memory).sum(1)
            state = self.decoder(torch.cat([word, context], 1), state)
            logits.append(self.out(torch.cat([state, context], 1)))
        return torch.stack(logits, 1)


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = Reverser()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=3e-3 if healthy else 6e-2)
    losses = []
    with debug(model):
        for _ in range(350):
            source = torch.randint(0, 12, (32, 6))
            target = source.flip(1)
            loss = F.cross_entropy(model(source, target).flatten(0, 1), target.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
