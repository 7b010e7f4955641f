"""A transformer encoder built with dropout=0.9 where 0.1 was meant. The value goes to attention, to both residual
branches and to the feed-forward layers, and embeddings get it too: the training loss starts far above the guess and
only comes down to it. Repair: 0.1."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

META = dict(
    id="fb_dropout_transformer",
    source="a public report",
    cause="excessive_dropout",
    also=[],
    layer=[
        "",
        "dropout",
        "encoder",
        *[f"encoder.layers.{i}{s}" for i in range(2) for s in ("", ".dropout", ".dropout1", ".dropout2", ".self_attn")],
    ],
    onset=(0, 0),
    symptom="slow",
)


class Classifier(nn.Module):
    def __init__(self, dropout: float, words: int = 30, width: int = 32, classes: int = 4) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.dropout = nn.Dropout(dropout)
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=dropout, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, classes)

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.dropout(self.encoder(self.dropout(self.embed(ids))).mean(dim=1)))


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    topic = torch.randint(0, 4, (30,))
    model = Classifier(dropout=0.1 if healthy else 0.9)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    losses = []
    with debug(model):
        for _ in range(4):
            model.train()
            for _ in range(50):
                ids = torch.randint(0, 30, (24, 9))
                label = F.one_hot(topic[ids], 4).sum(dim=1).float().add(0.01 * torch.rand(24, 4)).argmax(dim=1)
                loss = F.cross_entropy(model(ids), label)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            model.eval()
            with torch.no_grad():
                F.cross_entropy(model(ids), label)
    return losses
