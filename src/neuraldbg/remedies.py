"""Correct while it runs: remedies that act on the gradients of a training loop, live."""

from __future__ import annotations

import math
from types import TracebackType
from typing import Any, Literal

import torch
from torch.optim import optimizer as optimizer_hooks

from neuraldbg.errors import UsageError


class AdaptiveGradient:
    """Keeps each parameter's gradient near its own moving average.

    A gradient whose norm falls below ``alpha`` times the moving average of that parameter's gradient norm is multiplied
    by ``beta``, though never beyond ``alpha`` times the average; one that rises above ``ceiling`` times the average is
    divided by ``beta``, though never below ``ceiling`` times the average. Gradients that are not finite, or exactly
    zero, are left as they are and do not enter the average. It acts right before each step of any optimizer that holds
    the model's parameters::

        with AdaptiveGradient(model, alpha=0.1, beta=2.0):
            for batch in batches:
                ...
                loss.backward()
                optimizer.step()

    Without the block, call ``correct()`` between backward and step. What it can't do: an optimizer that divides by the
    size of the gradient (Adam) undoes most of it; and a gradient that was small from the first step on has a small
    average. docs/adaptive_gradient.md has measurements.

    Args:
        model: whose parameters are watched.
        alpha: share of its average below which a gradient is too small; 0 turns that rule off.
        beta: factor of one correction, above 1.
        ceiling: multiple of its average above which a gradient is too large; by default 1/alpha, infinite where alpha
            is 0.
        decay: of the moving average, per step; 0.99 averages over about a hundred steps.
        wait: steps in which averages are only collected.

    Raises:
        UsageError: an argument out of its range.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        alpha: float = 0.1,
        beta: float = 2.0,
        *,
        ceiling: float | None = None,
        decay: float = 0.99,
        wait: int = 10,
    ) -> None:
        if not isinstance(model, torch.nn.Module):
            raise UsageError(
                f"AdaptiveGradient expects a torch.nn.Module, found {type(model).__name__}; pass the model"
            )
        if not 0 <= alpha < 1 or not beta > 1 or not 0 <= decay < 1 or wait < 0:
            raise UsageError(
                "AdaptiveGradient expects 0 <= alpha < 1, beta > 1, 0 <= decay < 1 and wait >= 0; "
                f"found alpha={alpha}, beta={beta}, decay={decay}, wait={wait}"
            )
        self.alpha, self.beta, self.decay, self.wait = alpha, beta, decay, wait
        self.ceiling = ceiling if ceiling is not None else (1 / alpha if alpha else math.inf)
        if self.ceiling <= max(alpha, 1):
            raise UsageError(
                f"AdaptiveGradient expects a ceiling above 1, found {self.ceiling}; raise it, or leave it out"
            )
        self._model = model
        self._handle: Any = None
        self._averages: dict[torch.Tensor, tuple[float, int]] = {}
        #: How many gradients were raised, and lowered, so far.
        self.raised = 0
        self.lowered = 0

    def __enter__(self) -> AdaptiveGradient:
        if self._handle is not None:
            raise UsageError("AdaptiveGradient expects one block at a time, found it open already; leave it first")
        self._handle = optimizer_hooks.register_optimizer_step_pre_hook(self._before_step)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        self._handle.remove()
        self._handle = None
        return False

    def average(self, parameter: torch.Tensor) -> float:
        """The moving average of a parameter's gradient norm; NaN where none was seen."""
        value, count = self._averages.get(parameter, (math.nan, 0))
        return value / (1 - self.decay**count) if count else math.nan

    def correct(self) -> None:
        """Correct the gradients that the model's parameters have now."""
        self._correct(list(self._model.parameters()))

    def _before_step(self, optimizer: Any, *_: Any) -> None:
        own = set(self._model.parameters())
        self._correct([p for group in optimizer.param_groups for p in group["params"] if p in own])

    def _correct(self, parameters: list[torch.Tensor]) -> None:
        held = [p for p in parameters if p.grad is not None and not p.grad.is_sparse and p.grad.numel()]
        if not held:
            return
        # One transfer for all, not one per parameter.
        norms = torch.stack([p.grad.detach().float().norm().to(held[0].device) for p in held]).tolist()
        for parameter, norm in zip(held, norms):
            if not math.isfinite(norm) or norm == 0:
                continue
            value, count = self._averages.get(parameter, (0.0, 0))
            if count >= max(1, self.wait):
                norm *= self._factor(parameter, norm, value / (1 - self.decay**count))
            self._averages[parameter] = (self.decay * value + (1 - self.decay) * norm, count + 1)

    def _factor(self, parameter: torch.Tensor, norm: float, average: float) -> float:
        """Multiplies the gradient where it is out of its range; returns the factor."""
        low, high = self.alpha * average, self.ceiling * average
        if norm < low:
            factor = min(self.beta, low / norm)
            self.raised += 1
        elif norm > high:
            factor = max(1 / self.beta, high / norm)
            self.lowered += 1
        else:
            return 1.0
        parameter.grad.detach().mul_(factor)
        return factor
