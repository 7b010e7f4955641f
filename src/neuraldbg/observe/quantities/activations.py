"""Module outputs, their gradients, and the flags of modules.

Quantities (place kind ``module``; all over the elements of the output that ``main_output`` takes, sampled when large):
``module.output_mean``, ``output_std``, ``output_absmax``, ``output_zero_share`` (0..1), ``output_batch_spread`` (rms
over
features of the std across samples), ``output_dead_units`` (share of units that are <= 0 on the whole batch),
``output_unit_zero`` (share of units that are exactly 0 on the whole batch), ``output_nonfinite`` (1 when not finite),
``input_std``, ``input_absmax``, ``input_nonfinite``, ``output_gradient_norm`` (last call of the step),
``first_call_gradient_norm`` (first call, for modules called several times), ``calls`` (forwards per step),
``output_requires_grad``, ``input_requires_grad`` (1 when the tensor carries a graph), ``training`` (1 in train mode),
``normalized_samples`` (values per channel that a batch norm sees), ``grad_enabled``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from neuraldbg.observe import kernels
from neuraldbg.observe.pending import Pending

#: Tensors above this size are read through whole samples for per-unit numbers.
_UNIT_LIMIT = 65536
_CHANNEL_FIRST = (
    nn.modules.conv._ConvNd,
    nn.modules.batchnorm._BatchNorm,
    nn.GroupNorm,
    nn.modules.instancenorm._InstanceNorm,
)


def tensors_in(value: Any, depth: int = 3) -> Iterator[Tensor]:
    """Every tensor in nested tuples, lists, mappings, dataclasses and packed sequences."""
    if isinstance(value, Tensor):
        yield value
    elif depth <= 0 or value is None or isinstance(value, (str, bytes, int, float, bool, nn.Module)):
        return
    elif isinstance(value, nn.utils.rnn.PackedSequence):
        yield value.data
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from tensors_in(item, depth - 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item, depth - 1)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from tensors_in(getattr(value, field.name, None), depth - 1)


def readable_in(value: Any) -> Iterator[Tensor]:
    """The dense floating tensors among them; of one that is spread over processes a part may be read."""
    return (tensor for tensor in tensors_in(value) if _is_readable(tensor))


def main_output(output: Any) -> Tensor | None:
    """The floating tensor of an output that stands for it: the first one, with these taken first.

    Not a scalar; computed from parameters, for a mask or a constant that a model hands back besides is no activation;
    not one row that was expanded over the batch.
    """
    if isinstance(output, Tensor):
        return output if _is_readable(output) else None
    best, most = None, -1
    for tensor in tensors_in(output):
        if not _is_readable(tensor):
            continue
        worth = 4 * (tensor.dim() > 0) + 2 * (tensor.grad_fn is not None) + (not _repeats_a_row(tensor))
        if worth > most:
            best, most = tensor, worth
        if most == 7:
            break
    return best


def _is_readable(tensor: Tensor) -> bool:
    return kernels.is_number_tensor(kernels.local(tensor))


def _repeats_a_row(tensor: Tensor) -> bool:
    return tensor.dim() > 1 and tensor.shape[0] > 1 and tensor.stride(0) == 0


def beside(output: Any, main: Tensor) -> list[Tensor]:
    """The other tensors of an output that hold a row per sample: what varies there has not died out."""
    if isinstance(output, Tensor) or main.dim() < 2:
        return []
    return [
        tensor
        for tensor in tensors_in(output)
        if tensor is not main
        and _is_readable(tensor)
        and tensor.dim() > 1
        and tensor.shape[0] == main.shape[0]
        and tensor.grad_fn is not None
        and tensor.device == main.device
    ]


def channel_dimension(module: nn.Module, output: Tensor) -> int:
    """The dimension that counts units: 1 for convolutions, batch norms and image-like tensors, else the last one."""
    if isinstance(module, _CHANNEL_FIRST) and output.dim() > 1:
        return 1
    return 1 if output.dim() >= 4 else output.dim() - 1


def measure_output(
    pending: Pending, place: int, module: nn.Module, output: Tensor, offset: int, others: Sequence[Tensor] = ()
) -> None:
    """Numbers about one output tensor; of ``others`` the spread over samples alone, the largest of which is kept.

    A head that gives the same scale for every sample, in the tuple of another that gives the mean, ends no signal.
    """
    values = kernels.flat(output, offset=offset)
    low, high = torch.aminmax(values)
    deviation, mean = torch.std_mean(values, correction=0)
    pending.add("module.output_mean", place, mean)
    pending.add("module.output_std", place, deviation)
    pending.add("module.output_absmax", place, torch.maximum(high, -low))
    pending.add("module.output_zero_share", place, kernels.share(values == 0))
    if output.numel() > kernels.FULL:
        # A sample can miss the one value that is not finite; a sum over everything cannot.
        pending.add("module.output_sum", place, output.detach().sum(dtype=torch.float32))
    if output.dim() >= 2 and output.shape[0] > 1:
        block = kernels.rows(output, _UNIT_LIMIT)
        spread = kernels.spread_over_batch(block)
        for other in others:
            spread = torch.maximum(spread, kernels.spread_over_batch(kernels.rows(other, _UNIT_LIMIT)))
        pending.add("module.output_batch_spread", place, spread)
        units = kernels.unit_view(block, channel_dimension(module, output))
        highest = units.amax(0)
        pending.add("module.output_dead_units", place, kernels.share(highest <= 0))
        pending.add("module.output_unit_zero", place, kernels.share((highest == 0) & (units.amin(0) == 0)))


def measure_input(pending: Pending, place: int, inputs: Tensor, offset: int) -> None:
    """Numbers about the tensor that a module reads."""
    values = kernels.flat(inputs, offset=offset)
    low, high = torch.aminmax(values)
    pending.add("module.input_std", place, values.std(correction=0))
    pending.add("module.input_absmax", place, torch.maximum(high, -low))


def gradient_hook(
    pending: Pending, quantity: str, place: int, enter: Callable[[], None], leave: Callable[[], None]
) -> Any:
    """A tensor hook that keeps the norm of the gradient and returns nothing, so that the gradient stays as it is."""

    def hook(gradient: Tensor) -> None:
        enter()
        try:
            gradient = kernels.local(gradient)
            if gradient.layout == torch.strided and gradient.numel() > 0:
                pending.add(quantity, place, torch.linalg.vector_norm(gradient.detach(), dtype=_accumulator(gradient)))
        except Exception:
            return
        finally:
            leave()

    return hook


def _accumulator(value: Tensor) -> torch.dtype | None:
    return torch.float32 if value.dtype in (torch.float16, torch.bfloat16) else None
