"""A small causal transformer on characters, trained with Adam at 0.2 because that rate had worked for an embedding-bag
model. The loss drops to what character frequencies alone give within a few steps and never moves again, in training
and in validation. Repair: 2e-3."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

META = dict(
    id="fb_lr_high_transformer_chars",
    source="a public report",
    cause="learning_rate_too_high",
    also=[],
    layer=None,
    onset=(0, 30),
    symptom="loss_plateau",
)
VOCAB, CONTEXT = 24, 12


class CharTransformer(nn.Module):
    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.token = nn.Embedding(VOCAB, width)
        self.position = nn.Parameter(0.02 * torch.randn(CONTEXT, width))
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.decoder = nn.Linear(width, VOCAB)
        self.register_buffer("mask", torch.triu(torch.full((CONTEXT, CONTEXT), float("-inf")), 1))

    def forward(self, ids: Tensor) -> Tensor:
        return self.decoder(self.encoder(self.token(ids) + self.position, mask=self.mask, is_causal=True))


def corpus(count: int) -> Tensor:
    """Characters of a second-order rule with one slip in ten, (count, CONTEXT + 1)."""
    ids = torch.randint(0, VOCAB, (count, CONTEXT + 1))
    for t in range(2, CONTEXT + 1):
        rule = (ids[:, t - 1] + 3 + ids[:, t - 2] // 12) % VOCAB
        ids[:, t] = torch.where(torch.rand(count) < 0.1, ids[:, t], rule)
    return ids


def train_epoch(
    model: nn.Module, batches: Tensor, optimizer: torch.optim.Optimizer, criterion: nn.Module
) -> list[float]:
    model.train()
    losses = []
    for batch in batches:
        optimizer.zero_grad()
        loss = criterion(model(batch[:, :-1]).reshape(-1, VOCAB), batch[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def evaluate(model: nn.Module, ids: Tensor, criterion: nn.Module) -> float:
    model.eval()
    with torch.no_grad():
        return criterion(model(ids[:, :-1]).reshape(-1, VOCAB), ids[:, 1:].reshape(-1)).item()


def run(seed: int, healthy: bool, debug: Callable) -> list[float]:
    torch.manual_seed(seed)
    model = CharTransformer()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3 if healthy else 0.2)
    train, held_out = corpus(32 * 50), corpus(64)
    losses: list[float] = []
    with debug(model):
        for _ in range(5):
            order = torch.randperm(len(train))
            losses += train_epoch(model, train[order].view(50, 32, -1), optimizer, criterion)
            evaluate(model, held_out, criterion)
    return losses
