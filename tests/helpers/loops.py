"""Small training loops of every shape, each run bare or watched: what they end with must be the same, bit for bit.

A loop takes a ``block`` (a function from a model to a context manager) and gives back everything that it ended with.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from helpers.loop_parts import Block, Loop, batch, ended, labels
from helpers.loops_unusual import (
    accumulation,
    alarms,
    averaged_copy,
    lbfgs,
    optimizer_in_backward,
    retained_graph,
    several_forwards_per_backward,
    shared_weights,
    torch_func_inside,
)


def mlp_with_dropout(block: Block, steps: int = 6) -> list[Any]:
    model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Dropout(0.4), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    with block(model):
        for _ in range(steps):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(batch(8, 5)), labels(8))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return ended(model, optimizer, losses=losses)


def cnn_with_batch_norm(block: Block) -> list[Any]:
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 3)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    losses = []
    with block(model):
        for _ in range(5):
            model.train()
            optimizer.zero_grad()
            loss = nn.CrossEntropyLoss(label_smoothing=0.1)(model(batch(6, 1, 8, 8)), labels(6))
            loss.backward()
            optimizer.step()
            schedule.step()
            model.eval()
            with torch.no_grad():
                validation = F.cross_entropy(model(batch(6, 1, 8, 8)), labels(6))
            losses += [loss.item(), validation.item()]
    return ended(model, optimizer, schedule, losses=losses)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.GRU(4, 8, num_layers=2, dropout=0.2, batch_first=True)
        self.head = nn.Linear(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.rnn(x)[0][:, -1])


def gru(block: Block) -> list[Any]:
    model = Recurrent()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)
    losses = []
    with block(model):
        for _ in range(5):
            optimizer.zero_grad()
            loss = F.mse_loss(model(batch(6, 7, 4)), batch(6, 2))
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            losses += [loss.item(), norm.item()]
    return ended(model, optimizer, losses=losses)


def transformer(block: Block) -> list[Any]:
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
    model = nn.ModuleDict(
        {"embed": nn.Embedding(11, 8), "encoder": nn.TransformerEncoder(layer, 2), "head": nn.Linear(8, 11)}
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.003)
    losses = []
    with block(model):
        for _ in range(4):
            tokens = torch.randint(0, 11, (4, 6))
            mask = nn.Transformer.generate_square_subsequent_mask(6)
            optimizer.zero_grad(set_to_none=False)
            hidden = model["encoder"](model["embed"](tokens), mask=mask, is_causal=True)
            loss = F.cross_entropy(model["head"](hidden).flatten(0, 1), tokens.flatten())
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return ended(model, optimizer, losses=losses)


class InPlace(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.second = nn.Linear(5, 12), nn.BatchNorm1d(12), nn.Linear(12, 12)
        self.relu, self.head = nn.ReLU(inplace=True), nn.Linear(12, 1)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.relu(self.norm(self.first(x)))
        hidden = hidden + F.relu_(self.second(hidden))
        hidden[:, 0] = 0.0
        return self.head(hidden.mul_(0.5)).squeeze(1)


def in_place_relu(block: Block) -> list[Any]:
    model = InPlace()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    losses = []
    with block(model):
        for _ in range(5):
            optimizer.zero_grad()
            loss = (model(batch(8, 5)) - batch(8)).pow(2).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return ended(model, optimizer, losses=losses)


class Checkpointed(nn.Module):
    """Activation checkpointing around modules, and around a function that calls none."""

    def __init__(self, reentrant: bool, preserve: bool = True) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Dropout(0.3)) for _ in range(3))
        self.head = nn.Linear(6, 2)
        self.settings = {"use_reentrant": reentrant, "preserve_rng_state": preserve}

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.head.weight.sum()
        for inner in self.blocks:
            x = checkpoint(inner, x, **self.settings)
        x = checkpoint(lambda value: F.dropout(torch.sigmoid(value), 0.2), x, **self.settings)
        return self.head(x)


def _checkpointing(block: Block, model: nn.Module) -> list[Any]:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    with block(model):
        for _ in range(4):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(batch(8, 6)), labels(8, 2))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return ended(model, optimizer, losses=losses)


def checkpointing_reentrant(block: Block) -> list[Any]:
    return _checkpointing(block, Checkpointed(True))


def checkpointing_without_reentry(block: Block) -> list[Any]:
    return _checkpointing(block, Checkpointed(False))


class FunctionCheckpointed(nn.Module):
    """The only thing checkpointed is a function, and its second run draws other random numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(6, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.head(x)
        return checkpoint(
            lambda v: F.dropout(torch.tanh(v).exp(), 0.2), x, use_reentrant=False, preserve_rng_state=False
        )


def checkpointing_without_preserved_rng(block: Block) -> list[Any]:
    return _checkpointing(block, FunctionCheckpointed())


def gan(block: Block) -> list[Any]:
    generator = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
    critic = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Dropout(0.2), nn.Linear(8, 1))
    first = torch.optim.Adam(generator.parameters(), lr=0.01, betas=(0.5, 0.9))
    second = torch.optim.Adam(critic.parameters(), lr=0.01, betas=(0.5, 0.9))
    losses = []
    with block(None):
        for _ in range(5):
            fake = generator(batch(8, 3))
            second.zero_grad()
            on_real = F.binary_cross_entropy_with_logits(critic(batch(8, 2) + 2), torch.ones(8, 1))
            on_fake = F.binary_cross_entropy_with_logits(critic(fake.detach()), torch.zeros(8, 1))
            (on_real + on_fake).backward()
            second.step()
            first.zero_grad()
            fooled = F.binary_cross_entropy_with_logits(critic(fake), torch.ones(8, 1))
            fooled.backward()
            first.step()
            losses += [on_real.item(), on_fake.item(), fooled.item()]
    return ended(generator, critic, first, second, losses=losses)


def autocast_with_scaler(block: Block) -> list[Any]:
    model = nn.Sequential(nn.Linear(5, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=3)
    losses = []
    with block(model):
        for step in range(8):
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16):
                loss = F.cross_entropy(model(batch(8, 5)), labels(8))
            if step in (2, 5):
                loss = loss * float("inf")
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            losses += [loss.item(), norm.item()]
    return ended(model, optimizer, scaler, losses=losses)


LOOPS: dict[str, Loop] = {
    loop.__name__: loop
    for loop in (
        mlp_with_dropout,
        cnn_with_batch_norm,
        gru,
        transformer,
        in_place_relu,
        checkpointing_reentrant,
        checkpointing_without_reentry,
        checkpointing_without_preserved_rng,
        gan,
        autocast_with_scaler,
        accumulation,
        lbfgs,
        shared_weights,
        optimizer_in_backward,
        several_forwards_per_backward,
        retained_graph,
        torch_func_inside,
        averaged_copy,
        alarms,
    )
}
