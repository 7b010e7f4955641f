"""Sequences: waves to classify or to continue, tokens with a leaning, a Markov chain."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from bench.faultbench.recipe import Dataset


def wave_classes(count: int, generator: torch.Generator, length: int, classes: int) -> Dataset:
    """Waves (count, length, 2) of one of ``classes`` frequencies, and the class."""
    label = torch.randint(0, classes, (count,), generator=generator)
    frequency = 0.25 + 0.55 * label[:, None].float()
    phase = torch.rand(count, 1, generator=generator) * 2 * math.pi
    time = torch.arange(float(length))[None]
    wave = torch.stack([torch.sin(frequency * time + phase), torch.cos(frequency * time + phase)], -1) * 1.4
    return Dataset((wave + 0.2 * torch.randn(wave.shape, generator=generator),), label)


def forecast(count: int, generator: torch.Generator, length: int, ahead: int = 2) -> Dataset:
    """Waves (count, length, 1) and their value ``ahead`` steps later, (count, 1)."""
    phase = torch.rand(count, 1, generator=generator) * 2 * math.pi
    frequency = 0.3 + 0.5 * torch.rand(count, 1, generator=generator)
    wave = 1.4 * torch.sin(frequency * torch.arange(float(length + ahead))[None] + phase)
    return Dataset((wave[:, :length, None].contiguous(),), wave[:, length + ahead - 1 :][:, :1].contiguous())


def marked_sum(count: int, generator: torch.Generator, length: int) -> Dataset:
    """Noise with two marked positions (count, length, 2); the class tells whether the marked numbers agree in sign."""
    values = torch.randn(count, length, generator=generator)
    marks = torch.zeros(count, length)
    places = torch.rand(count, length, generator=generator).topk(2, dim=1).indices
    marks.scatter_(1, places, 1.0)
    total = (values * marks).sum(1)
    return Dataset((torch.stack([values, marks * 2 - 2 * 2 / length], -1),), (total > 0).long())


def leaning(lean: Tensor, count: int, generator: torch.Generator, length: int, classes: int) -> Dataset:
    """Tokens (count, length), most of which lean to the class."""
    vocabulary = len(lean)
    label = torch.randint(0, classes, (count,), generator=generator)
    groups = torch.stack([torch.where(lean == value, 4.0, 1.0) for value in range(classes)])
    rows = torch.multinomial(groups[label], length, replacement=True, generator=generator)
    return Dataset(
        (rows,),
        torch.stack([(lean[rows] == value).sum(1) for value in range(classes)], 1).argmax(1) if vocabulary else label,
    )


def lean_of(vocabulary: int, classes: int, generator: torch.Generator) -> Tensor:
    return torch.arange(vocabulary)[torch.randperm(vocabulary, generator=generator)] % classes


def chain(table: Tensor, count: int, generator: torch.Generator, length: int) -> Dataset:
    """Token sequences of a Markov chain, (count, length), and the next tokens, (count, length)."""
    vocabulary = len(table)
    tokens = [torch.randint(0, vocabulary, (count,), generator=generator)]
    for _ in range(length):
        followed = table[tokens[-1]]
        strayed = torch.randint(0, vocabulary, (count,), generator=generator)
        keep = torch.rand(count, generator=generator) < 0.9
        tokens.append(torch.where(keep, followed, strayed))
    rows = torch.stack(tokens, 1)
    return Dataset((rows[:, :-1].contiguous(),), rows[:, 1:].contiguous())
