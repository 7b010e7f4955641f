"""Does AdaptiveGradient help? Deep plain networks with and without it, against clipping and residual connections.

    python -m bench.adaptive_gradient [--seeds 3] [--steps 150] [--only mlp] [--out FILE]

Prints, per task and method, the loss at the end (as a share of the first one), how many runs failed (not finite, or
above the first loss), the ratio of gradient norms between the first and the last tenth of the layers, and how often
AdaptiveGradient acted; means with 95 % intervals over seeds.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from neuraldbg.remedies import AdaptiveGradient

METHODS = ("plain", "adaptive", "clipping", "residual", "residual + adaptive")
_T95 = (12.71, 4.303, 3.182, 2.776)


class DeepMlp(nn.Module):
    """Fifty layers of 32 tanh units."""

    def __init__(self, residual: bool) -> None:
        super().__init__()
        self.entry = nn.Linear(16, 32)
        self.layers = nn.ModuleList(nn.Linear(32, 32) for _ in range(48))
        self.exit = nn.Linear(32, 4)
        self.residual = residual

    def forward(self, x: Tensor) -> Tensor:
        x = torch.tanh(self.entry(x))
        for layer in self.layers:
            x = x + torch.tanh(layer(x)) if self.residual else torch.tanh(layer(x))
        return self.exit(x)


class LongRnn(nn.Module):
    """A plain recurrent cell over twenty steps; the answer stands at the beginning."""

    def __init__(self, residual: bool) -> None:
        super().__init__()
        self.cell = nn.RNNCell(4, 32)
        self.exit = nn.Linear(32, 4)
        self.residual = residual

    def forward(self, x: Tensor) -> Tensor:
        state = x.new_zeros(len(x), 32)
        for step in range(x.shape[1]):
            update = self.cell(x[:, step], state)
            state = state + 0.2 * update if self.residual else update
        return self.exit(state)


class DeepTransformer(nn.Module):
    """Twelve blocks of attention and a feed-forward part, with the norm after each (or none of the shortcuts)."""

    def __init__(self, residual: bool) -> None:
        super().__init__()
        self.entry = nn.Linear(4, 32)
        self.attentions = nn.ModuleList(nn.MultiheadAttention(32, 4, batch_first=True) for _ in range(12))
        self.feeds = nn.ModuleList(nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32)) for _ in range(12))
        self.norms = nn.ModuleList(nn.LayerNorm(32) for _ in range(24))
        self.exit = nn.Linear(32, 4)
        self.residual = residual

    def forward(self, x: Tensor) -> Tensor:
        x = self.entry(x)
        for index, (attention, feed) in enumerate(zip(self.attentions, self.feeds)):
            mixed = attention(x, x, x, need_weights=False)[0]
            x = self.norms[2 * index](x + mixed if self.residual else mixed)
            fed = feed(x)
            x = self.norms[2 * index + 1](x + fed if self.residual else fed)
        return self.exit(x.mean(1))


def flat_batch(generator: torch.Generator) -> tuple[Tensor, Tensor]:
    x = torch.randn(32, 16, generator=generator)
    return x, x[:, :4].argmax(1)


def long_batch(generator: torch.Generator) -> tuple[Tensor, Tensor]:
    x = 0.3 * torch.randn(32, 20, 4, generator=generator)
    target = torch.randint(0, 4, (32,), generator=generator)
    x[:, 0] += 2 * F.one_hot(target, 4)
    return x, target


def short_batch(generator: torch.Generator) -> tuple[Tensor, Tensor]:
    x = torch.randn(32, 8, 4, generator=generator)
    return x, x.amax(1).argmax(1)


Task = tuple[Callable[[bool], nn.Module], Callable[[torch.Generator], tuple[Tensor, Tensor]], float]
TASKS: dict[str, Task] = {
    "mlp": (DeepMlp, flat_batch, 0.02),
    "rnn": (LongRnn, long_batch, 0.1),
    "transformer": (DeepTransformer, short_batch, 0.1),
}


def train(task: str, method: str, seed: int, steps: int) -> dict[str, float]:
    """One run with SGD: the optimizer that sees the size of a gradient as it is."""
    build, batch, rate = TASKS[task]
    torch.manual_seed(seed)
    model = build("residual" in method)
    generator = torch.Generator().manual_seed(1_000 + seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    losses: list[float] = []
    ratios: list[float] = []
    remedy = AdaptiveGradient(model, alpha=0.1, beta=2.0)
    with remedy if "adaptive" in method else contextlib.nullcontext():
        for _ in range(steps):
            x, y = batch(generator)
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            if method == "clipping":
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(float(loss.detach()))
            ratios.append(depth_ratio(model))
            if not math.isfinite(losses[-1]):
                break
    first, end = statistics.fmean(losses[:5]), statistics.fmean(losses[-15:])
    failed = not math.isfinite(end) or end > 1.05 * first
    return {
        "remaining": min(end / first, 2.0) if math.isfinite(end) else 2.0,
        "failed": float(failed),
        "roughness": statistics.pstdev(losses[-30:]) if not failed else math.nan,
        "depth_ratio": statistics.median(ratios),
        "raised": remedy.raised / max(1, len(losses)),
        "lowered": remedy.lowered / max(1, len(losses)),
    }


def depth_ratio(model: nn.Module) -> float:
    """log10 of the gradient norm of the first matrices over that of the last ones."""
    norms = [float(p.grad.norm()) for p in model.parameters() if p.grad is not None and p.dim() == 2]
    tenth = max(1, len(norms) // 10)
    first, last = sum(norms[:tenth]), sum(norms[-tenth:])
    return math.log10(max(first, 1e-30) / max(last, 1e-30)) if math.isfinite(first + last) else math.nan


def with_interval(values: list[float]) -> tuple[float, float]:
    """Mean, and half of its 95 % interval."""
    known = [value for value in values if math.isfinite(value)]
    if not known:
        return math.nan, math.nan
    half = (
        _T95[min(len(known) - 2, 3)] * statistics.stdev(known) / math.sqrt(len(known)) if len(known) > 1 else math.nan
    )
    return statistics.fmean(known), half


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--only", default="", help="one task")
    parser.add_argument("--out", default="", help="file for all numbers, as JSON")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    everything: dict[str, Any] = {"seeds": chosen.seeds, "steps": chosen.steps}
    print("| task | method | loss left | failed | roughness | first/last gradient, log10 | raised, lowered per step |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for task in TASKS:
        if chosen.only and task != chosen.only:
            continue
        for method in METHODS:
            runs = [train(task, method, seed, chosen.steps) for seed in range(chosen.seeds)]
            everything[f"{task} {method}"] = runs
            left, left_half = with_interval([run["remaining"] for run in runs])
            rough, _ = with_interval([run["roughness"] for run in runs])
            ratio, ratio_half = with_interval([run["depth_ratio"] for run in runs])
            acted = [statistics.fmean(run[name] for run in runs) for name in ("raised", "lowered")]
            failed = sum(run["failed"] for run in runs)
            print(
                f"| {task} | {method} | {left:.2f} ± {left_half:.2f} | {failed:.0f} of {len(runs)} | {rough:.3f}"
                f" | {ratio:.1f} ± {ratio_half:.1f} | {acted[0]:.2f}, {acted[1]:.2f} |",
                flush=True,
            )
    if chosen.out:
        Path(chosen.out).write_text(json.dumps(everything, indent=1))


if __name__ == "__main__":
    main()
