"""A call of a module, as an intervention sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

#: Losses of torch.nn.functional.
LOSSES = tuple(
    name for name in dir(torch.nn.functional) if name.endswith("_loss") or name == "kl_div" or "cross_entropy" in name
)


@dataclass
class Call:
    """One call of a module, as an intervention may change it."""

    module: nn.Module
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    #: Modules whose call this one is inside of, outermost first.
    outer: tuple[nn.Module, ...]
    _proceed: Callable[..., Any] = field(repr=False)

    @property
    def is_root(self) -> bool:
        """Whether a model is called, by the loop: not a part of one, and not a loss."""
        return not self.outer and not isinstance(self.module, nn.modules.loss._Loss)

    def proceed(self) -> Any:
        """Carry the call out with the present arguments."""
        return self._proceed(self.module, *self.arguments, **self.keywords)

    def rehearse(self) -> Any:
        """Carry the call out without a trace: no gradients, the random numbers and buffers as before."""
        kept = [(buffer, buffer.detach().clone()) for buffer in self.module.buffers()]
        devices = list(range(torch.cuda.device_count())) if torch.cuda.is_initialized() else []
        with torch.no_grad(), torch.random.fork_rng(devices=devices):
            try:
                return self.proceed()
            finally:
                for buffer, before in kept:
                    buffer.copy_(before)

    def change_tensors(self, change: Callable[[Any, Tensor], Tensor]) -> None:
        """Replace every tensor among the arguments, also inside of lists, tuples and dicts.

        ``change`` gets where the tensor stands (hashable) and the tensor.
        """
        self.arguments = tuple(mapped(value, (index,), change) for index, value in enumerate(self.arguments))
        self.keywords = {name: mapped(value, (name,), change) for name, value in self.keywords.items()}


def mapped(value: Any, key: tuple[Any, ...], change: Callable[[Any, Tensor], Tensor]) -> Any:
    """Every tensor inside of lists, tuples and dicts replaced by ``change(where it stands, tensor)``."""
    if isinstance(value, Tensor):
        return change(key, value)
    if type(value) in (list, tuple):
        return type(value)(mapped(item, (*key, index), change) for index, item in enumerate(value))
    if type(value) is dict:
        return {name: mapped(item, (*key, name), change) for name, item in value.items()}
    return value
