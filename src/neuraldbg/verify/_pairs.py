"""Samples out of order where no loader and no slice gives the data: rows drawn from the batches so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from neuraldbg.verify._calls import LOSSES, Call
from neuraldbg.verify._lever import Lever

#: Batches that are kept; of more, a uniform choice (reservoir sampling, Vitter 1985).
_KEPT = 256


class Pairs:
    """Keeps the batches of a loop, inputs and target together, and hands out rows of all of them.

    Which rows the target must have is known when the model is called, and the target only at the loss: so the rows come
    from the batches before, and a batch is drawn from once it is whole. It is at work where the order was not changed
    in another way before the first forward.
    """

    def __init__(self, lever: Lever, generator: torch.Generator) -> None:
        self._lever, self._generator = lever, generator
        self._wanted: bool | None = None
        #: Whole batches: inputs by place, and the target.
        self._whole: list[tuple[dict[Any, Tensor], Tensor]] = []
        self._seen = 0
        #: The inputs whose target is not known yet.
        self._open: dict[Any, Tensor] | None = None
        #: (batch, row) of each row of the forward that is going on; None where it got its own rows.
        self._drawn: list[tuple[int, int]] | None = None

    def install(self) -> None:
        """Act on the losses of torch; ``around`` is to act around the calls of modules."""
        for name in LOSSES:
            self._lever.replace(torch.nn.functional, name, self._loss)

    def around(self, call: Call) -> Any:
        """A call of a module, with other rows where it is the model's."""
        if call.is_root and torch.is_grad_enabled():
            if self._wanted is None:
                self._wanted = not self._lever.acted
            if self._wanted:
                self._draw(call)
        return call.proceed()

    def _draw(self, call: Call) -> None:
        inputs: dict[Any, Tensor] = {}

        def note(key: Any, tensor: Tensor) -> Tensor:
            inputs[key] = tensor
            return tensor

        call.change_tensors(note)
        self._open = self._drawn = None
        lengths = {len(tensor) if tensor.dim() else 0 for tensor in inputs.values()}
        if len(lengths) != 1 or any(tensor.requires_grad for tensor in inputs.values()):
            return
        (rows,) = lengths
        if rows:
            self._open = inputs
        if not rows or not self._whole or not _alike(inputs, self._whole[0][0]):
            return
        sizes = [len(target) for _, target in self._whole]
        batches = torch.randint(len(sizes), (rows,), generator=self._generator).tolist()
        places = torch.rand(rows, generator=self._generator).tolist()
        drawn = [(batch, int(place * sizes[batch])) for batch, place in zip(batches, places)]
        call.change_tensors(lambda key, _: torch.stack([self._whole[batch][0][key][row] for batch, row in drawn]))
        self._drawn = drawn

    def _loss(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def loss(input: Any, target: Any = None, *arguments: Any, **keywords: Any) -> Any:
            inputs, drawn = self._open, self._drawn
            if inputs is None or not torch.is_grad_enabled() or not isinstance(target, Tensor) or not target.dim():
                return original(input, target, *arguments, **keywords)
            if len(target) != len(next(iter(inputs.values()))):
                return original(input, target, *arguments, **keywords)
            whole = ({key: tensor.detach().clone() for key, tensor in inputs.items()}, target.detach().clone())
            if drawn is not None:
                target = torch.stack([self._whole[batch][1][row] for batch, row in drawn])
                self._lever.did("rows drawn from all batches so far")
            self._keep(whole)
            self._open = self._drawn = None
            return original(input, target, *arguments, **keywords)

        return loss

    def _keep(self, whole: tuple[dict[Any, Tensor], Tensor]) -> None:
        self._seen += 1
        if len(self._whole) < _KEPT:
            self._whole.append(whole)
            return
        place = int(torch.randint(self._seen, (1,), generator=self._generator))
        if place < _KEPT:
            self._whole[place] = whole


def _alike(inputs: dict[Any, Tensor], others: dict[Any, Tensor]) -> bool:
    """Whether two batches differ in nothing but their number of rows."""
    return inputs.keys() == others.keys() and all(
        tensor.shape[1:] == others[key].shape[1:] and tensor.dtype == others[key].dtype
        for key, tensor in inputs.items()
    )
