"""Adam with weight_decay=0.3, taken from a table in which decay was decoupled and multiplied by the rate. In plain
Adam it's an L2 term, and each weight of a small language model hears more of it than of the text. Repair: AdamW."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fd_decay_copied_from_a_table",
    source="widely reported: AdamW's weight decay used with Adam",
    cause="excessive_weight_decay",
    also=[],
    layer=None,
    onset=(0, 150),
    symptom="loss_plateau",
)


class Words(nn.Module):
    def __init__(self, words: int = 14, width: int = 32) -> None:
        super().__init__()
        self.embed, self.place = nn.Embedding(words, width), nn.Embedding(10, width)
        self.block = nn.TransformerEncoderLayer(width, 2, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.out = nn.Linear(width, words)

    def forward(self, text: Tensor) -> Tensor:
        length = text.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        h = self.embed(text) + self.place.weight[:length]
        return self.out(self.block(h, src_mask=mask, is_causal=True))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    follow = torch.stack([torch.randperm(14) for _ in range(2)])
    model = Words()
    kind = torch.optim.AdamW if healthy else torch.optim.Adam
    optimizer = kind(model.parameters(), lr=3e-3, weight_decay=0.3)
    losses = []
    with debug(model):
        for _ in range(250):
            text = [torch.randint(0, 14, (24,))]
            for _i in range(8):
                text.append(follow[torch.randint(0, 2, (24,)), text[-1]])
            text = torch.stack(text, 1)
            loss = F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
