"""References to what the outermost modules read last, so that a step that goes wrong can be looked at a second time.

No module hook: the class of an outermost module gets a ``forward`` that keeps its arguments and calls the original, and
gets the original back when the block is left. Instances carry nothing of ours, whatever is copied or saved.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from neuraldbg.observe.tracing import tracing


@dataclass
class KeptCall:
    """One call of an outermost module."""

    module: nn.Module
    args: tuple[Any, ...]
    keywords: dict[str, Any]
    #: Tensors among the arguments, with the version that they had.
    versions: Sequence[tuple[Tensor, int]]
    #: (device type, dtype) for which autocast was on.
    autocast: tuple[tuple[str, torch.dtype], ...]

    @property
    def changed(self) -> bool:
        """Whether an argument was modified in place since."""
        return any(tensor._version != version for tensor, version in self.versions)


_Autocast = tuple[tuple[str, torch.dtype], ...]
_Call = tuple[nn.Module, tuple[Any, ...], dict[str, Any], Sequence[tuple[Tensor, int]], _Autocast]
_any_autocast: Callable[[], bool] = getattr(torch._C, "_is_any_autocast_enabled", lambda: True)


def _autocast() -> _Autocast:
    return tuple(
        (device, torch.get_autocast_dtype(device)) for device in ("cpu", "cuda") if torch.is_autocast_enabled(device)
    )


class InputKeeper:
    """Keeps the last call of each outermost module until ``release``."""

    def __init__(self) -> None:
        self._roots: set[int] = set()
        #: Class → what puts its own forward back.
        self._classes: dict[type[nn.Module], Callable[[], None]] = {}
        self._compiled: set[type[nn.Module]] = set()
        #: Module → its last call in this step.
        self.kept: dict[int, _Call] = {}

    def open(self, roots: Iterable[tuple[str, nn.Module]]) -> None:
        """Begin to keep what these modules read."""
        self.watch(roots)

    def close(self) -> None:
        """Let go of everything and put the classes back."""
        for undo in self._classes.values():
            undo()
        self._classes.clear()
        self._roots.clear()
        self.kept.clear()

    def watch(self, roots: Iterable[tuple[str, nn.Module]]) -> None:
        """Keep what these modules read from now on, as well."""
        for _, module in roots:
            if id(module) not in self._roots:
                self._watch(module)

    def leave(self, owner: type[nn.Module]) -> None:
        """A module of this class is compiled: a ``forward`` of ours would be one more function to compile."""
        self._compiled.add(owner)
        if owner in self._classes:
            self._classes.pop(owner)()

    def _watch(self, module: nn.Module) -> None:
        if "forward" in vars(module):
            return
        owner = type(module)
        if isinstance(module, torch.jit.ScriptModule) or owner.__name__ == "GraphModule" or owner in self._compiled:
            return
        self._roots.add(id(module))
        if owner in self._classes:
            return
        original = owner.forward
        had = "forward" in vars(owner)

        roots, kept, keep = self._roots, self.kept, self.keep
        is_compiling, with_gradients, autocasts = torch.compiler.is_compiling, torch.is_grad_enabled, _any_autocast

        @functools.wraps(original)
        def forward(self_: nn.Module, *args: Any, **keywords: Any) -> Any:
            # is_compiling comes first: under a compiler's trace it is a constant, and the rest is never traced.
            if not is_compiling() and id(self_) in roots:
                # One tensor in float32, the usual case; the shorter for the reasons told in ``unobserved``.
                if len(args) == 1 and type(args[0]) is Tensor and not keywords and not autocasts():
                    x = args[0]
                    if with_gradients():
                        try:
                            kept[id(self_)] = (self_, args, keywords, ((x, x._version),), ())
                        except RuntimeError:  # a tensor of inference mode has no version
                            kept[id(self_)] = (self_, args, keywords, (), ())
                    return original(self_, x)
                if not tracing():
                    keep(self_, args, keywords)
            return original(self_, *args, **keywords)

        owner.forward = forward  # type: ignore[method-assign]

        def undo() -> None:
            if vars(owner).get("forward") is forward:
                if had:
                    owner.forward = original  # type: ignore[method-assign]
                else:
                    del owner.forward

        self._classes[owner] = undo

    def keep(self, module: nn.Module, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """Keep one call, until the step is over."""
        # Called at every step: versions of plain arguments only, autocast only where some is on.
        if torch.is_grad_enabled():
            versions = []
            for value in args:
                if type(value) is Tensor and not value.is_inference():
                    versions.append((value, value._version))
            if keywords:
                versions += [(value, value._version) for value in keywords.values() if type(value) is Tensor]
            self.kept[id(module)] = (module, args, keywords, versions, _autocast() if _any_autocast() else ())

    def calls(self) -> list[KeptCall]:
        """The last call of each outermost module in this step, in order."""
        return [KeptCall(*call) for call in self.kept.values()]

    def release(self) -> None:
        self.kept.clear()
