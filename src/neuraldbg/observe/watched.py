"""The modules and parameters that are watched, and their names."""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.modules.instancenorm import _InstanceNorm

from neuraldbg.observe import kernels

_LINEAR = (nn.Linear, nn.Bilinear)
_CONVOLUTION = (nn.modules.conv._ConvNd,)
_NORMS = tuple(
    getattr(nn, name)
    for name in ("LayerNorm", "GroupNorm", "RMSNorm", "LocalResponseNorm", "CrossMapLRN2d")
    if hasattr(nn, name)
)
_ACTIVATIONS = (
    nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.PReLU, nn.ELU, nn.SELU, nn.CELU, nn.GELU, nn.SiLU, nn.Mish, nn.Sigmoid, nn.Tanh,
    nn.Softmax, nn.LogSoftmax, nn.Softplus, nn.Softsign, nn.Hardtanh, nn.Hardsigmoid, nn.Hardswish, nn.LogSigmoid,
    nn.Threshold, nn.GLU, nn.Softmax2d, nn.Softmin, nn.RReLU, nn.Tanhshrink, nn.Softshrink, nn.Hardshrink,
)  # fmt: skip


def _is_own_norm(module: nn.Module) -> bool:
    """Whether a class that is not of torch is a norm by its name, with a gain or a shift per feature at most."""
    leaf = next(module.children(), None) is None
    return leaf and "norm" in type(module).__name__.lower() and all(p.dim() <= 1 for p in module.parameters())


def kind_of(module: nn.Module) -> str:
    """The role of a module: linear, convolution, norm, activation, dropout, embedding, recurrent ..."""
    if isinstance(module, _LINEAR):
        return "linear"
    if isinstance(module, _CONVOLUTION):
        return "convolution"
    if isinstance(module, (_BatchNorm, _InstanceNorm, *_NORMS)):
        return "norm"
    if _is_own_norm(module):
        return "norm"
    if isinstance(module, nn.Identity) or (isinstance(module, nn.LeakyReLU) and module.negative_slope == 1):
        return "identity"
    if isinstance(module, _ACTIVATIONS):
        return "activation"
    if isinstance(module, (_DropoutNd,)):
        return "dropout"
    if isinstance(module, (nn.Embedding, nn.EmbeddingBag)):
        return "embedding"
    if isinstance(module, (nn.RNNBase, nn.RNNCellBase)):
        return "recurrent"
    if isinstance(module, nn.MultiheadAttention):
        return "attention"
    if isinstance(module, nn.modules.loss._Loss):
        return "loss"
    return "container" if next(module.children(), None) is not None else "other"


def has_mode(module: nn.Module) -> bool:
    """Whether train and eval mode differ for the module itself."""
    if isinstance(module, _DropoutNd):
        return module.p > 0
    if isinstance(module, (_BatchNorm, _InstanceNorm)):
        return bool(module.track_running_stats)
    return isinstance(module, (nn.RNNBase, nn.MultiheadAttention)) and float(getattr(module, "dropout", 0)) > 0


def details_of(module: nn.Module) -> dict[str, Any]:
    """Constant properties of a module that rules ask for."""
    details: dict[str, Any] = {"class": type(module).__name__, "kind": kind_of(module)}
    if has_mode(module):
        details["has_mode"] = True
    if isinstance(module, _DropoutNd):
        details["probability"] = float(module.p)
    if isinstance(module, nn.Module) and details["kind"] in ("recurrent", "attention"):
        details["dropout"] = float(getattr(module, "dropout", 0) or 0)
    if isinstance(module, _BatchNorm):
        details["batch_norm"] = True
    if next(module.children(), None) is None:
        details["leaf"] = True
    return details


def fan_in_of(parameter: Tensor) -> int:
    """Inputs that feed one unit: the product of all dimensions but the first; 0 for vectors and scalars."""
    # By its shape: indexing a sharded parameter would start a collective.
    return math.prod(parameter.shape[1:]) if parameter.dim() >= 2 and parameter.shape[0] > 0 else 0


class Watched:
    """Names for modules and parameters, by identity. Holds the roots weakly: watching keeps nothing alive."""

    def __init__(self) -> None:
        self._roots: list[tuple[str, weakref.ref[nn.Module]]] = []
        self.module_names: dict[int, str] = {}
        self.parameter_names: dict[int, str] = {}
        self._signature: tuple[int, ...] = ()

    def add_root(self, module: nn.Module, name: str = "") -> None:
        if _is_compiled(module):
            module = module._orig_mod  # type: ignore[assignment]
        self._roots.append((name, weakref.ref(module)))
        self.refresh()

    def roots(self) -> Iterator[tuple[str, nn.Module]]:
        for name, reference in self._roots:
            module = reference()
            if module is not None:
                yield name, module

    def forget_dead(self) -> bool:
        """Drop models that are gone, and their names; true when there was one."""
        if all(reference() is not None for _, reference in self._roots):
            return False
        self._roots = [(name, reference) for name, reference in self._roots if reference() is not None]
        self.refresh()
        return True

    def modules(self) -> Iterator[tuple[str, nn.Module]]:
        """Every watched module once, with its path."""
        seen: set[int] = set()
        for name, root in self.roots():
            for path, module in _named_modules(root, name):
                if id(module) not in seen:
                    seen.add(id(module))
                    yield path, module

    def parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Every registered parameter once, with its path."""
        seen: set[int] = set()
        for name, root in self.roots():
            for path, parameter in root.named_parameters():
                if id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield _join(name, _plain(path)), parameter

    def refresh(self) -> bool:
        """Read names again; true when modules or parameters were added, removed or replaced."""
        modules = {id(module): path for path, module in self.modules()}
        parameters = {id(parameter): path for path, parameter in self.parameters()}
        changed = modules.keys() != self.module_names.keys() or parameters.keys() != self.parameter_names.keys()
        self.module_names, self.parameter_names = modules, parameters
        return changed

    def has_parameters(self, path: str) -> bool:
        """Whether parameters lie in the module of that path or below it."""
        return any(name.startswith(f"{path}.") or not path for name in self.parameter_names.values())

    def name_unregistered(self, module: nn.Module) -> str | None:
        """The path of a module that a watched module holds in a plain list, tuple or dict, and so does not register.

        A plain Python list hides modules from ``parameters()``; the attribute that holds the list is the place to mend.
        """
        for path, owner in self.modules():
            for attribute, value in vars(owner).items():
                if attribute.startswith("_") and not isinstance(value, (list, tuple, dict, nn.Module)):
                    continue
                if attribute in ("_modules", "_parameters", "_buffers"):
                    continue
                for key, held in _held(value):
                    if held is module:
                        return _join(_join(path, attribute), key)
                    if isinstance(held, nn.Module):
                        for inner, child in held.named_modules():
                            if child is module:
                                return _join(_join(_join(path, attribute), key), inner)
        return None


def _held(value: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(value, nn.Module):
        # Set past Module.__setattr__, through __dict__ or object.__setattr__.
        return [("", value)]
    if isinstance(value, Mapping):
        return [(str(key), item) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [(str(index), item) for index, item in enumerate(value)]
    return []


def _is_compiled(module: nn.Module) -> bool:
    """Whether a module is the wrapper that torch.compile puts around another one; it has no name of its own."""
    return type(module).__name__ == "OptimizedModule"


def _plain(path: str) -> str:
    """A path without the names of such wrappers."""
    return ".".join(part for part in path.split(".") if part != "_orig_mod") if "_orig_mod" in path else path


def _join(left: str, right: str) -> str:
    return f"{left}.{right}" if left and right else left or right


def _named_modules(root: nn.Module, prefix: str) -> Iterator[tuple[str, nn.Module]]:
    for path, module in root.named_modules():
        if not _is_compiled(module):
            yield _join(prefix, _plain(path)), module


def parameter_details(parameter: Tensor) -> dict[str, Any]:
    """Constant properties of a parameter that rules ask for."""
    if nn.parameter.is_lazy(parameter):  # has no shape before the first forward
        return {"lazy": True}
    details: dict[str, Any] = {
        "shape": list(parameter.shape),
        "elements": int(parameter.numel()),
        "dtype": str(parameter.dtype).removeprefix("torch."),
        "fan_in": fan_in_of(parameter) if parameter.layout == torch.strided else 0,
    }
    placements = getattr(parameter, "placements", None)
    if placements is not None:
        mesh = parameter.device_mesh  # type: ignore[attr-defined]
        alike = [mesh.size(dimension) for dimension, kind in enumerate(placements) if kind.is_replicate()]
        held = int(kernels.local(parameter).numel())
        details["shard"] = {"ranks": int(mesh.size()), "copies": math.prod(alike), "held": held}
    return details
