"""Models that torch.compile runs: our module hooks are out of the way while they do, and what stays hidden is said.

A compiler that finds global module hooks traces them, warns about them, and compiles once more when they come or go. So
none is there while a compiled module runs. Its inside goes unseen; the loss, gradients and updates are seen as ever.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from neuraldbg.observe import autograd
from neuraldbg.observe.autograd import operation

if TYPE_CHECKING:
    from neuraldbg.observe.observer import Observer

#: Names of layers kept in the fact.
_NAMES = 50


class Compiling:
    """One per session."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._written = False
        #: Whether a compiler was seen at work, and on what.
        self.how: set[str] = set()
        #: Whether a whole watched model is compiled in place: no module hook helps, and each would compile it anew.
        self.whole = False

    @property
    def active(self) -> bool:
        """Whether something was compiled in this process: then a compiler must meet none of our code.

        Our callbacks are hidden from it, which costs them a microsecond each.
        """
        backends = getattr(sys.modules.get("torch._dynamo.eval_frame"), "cached_backends", None)
        return bool(self.how or backends)

    @property
    def inlined(self) -> bool:
        """Whether calls of compiled code cannot be told from others, so that functionals must stay as they are."""
        return self.whole or "function" in self.how

    def hidden(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        """The callback as a compiler may meet it: run as it is, never traced."""
        if not self.active:
            return callback

        def plain(*args: Any, **kwargs: Any) -> Any:
            return callback(*args, **kwargs)

        return torch._disable_dynamo(plain)  # type: ignore[no-any-return]

    def patches(self) -> list[tuple[Any, str, Callable[[Any], Any]]]:
        """(owner, attribute, wrapper) to put in while the block is open."""
        found: list[tuple[Any, str, Callable[[Any], Any]]] = [
            (torch, "compile", self._wrap_compile),
            (nn.Module, "compile", self._wrap_module_compile),
        ]
        optimized = getattr(sys.modules.get("torch._dynamo.eval_frame"), "OptimizedModule", None)
        if optimized is not None:
            found.append((optimized, "__call__", self._wrap_optimized))
        self._look_for_compiled()
        return found

    def _look_for_compiled(self) -> None:
        for _, root in self._observer.watched.roots():
            if getattr(root, "_compiled_call_impl", None) is not None:
                self.how.add("module")
                self.whole = True

    def _wrap_compile(self, original: Any) -> Any:
        def compile(model: Any = None, *args: Any, **kwargs: Any) -> Any:
            before = self.active
            if isinstance(model, nn.Module) and self._observer.listening:
                # The compiler takes hold of the model's ``__call__`` as it finds it; ours it could not look into.
                self._observer.alarms.keeper.leave(type(model))
            result = original(model, *args, **kwargs)
            if not torch.compiler.is_compiling() and self._observer.listening:
                if callable(model) and not isinstance(model, nn.Module):
                    self.how.add("function")
                if (self.active and not before) or self.inlined:
                    self._observer.reinstall()
            return result

        return compile

    def _wrap_module_compile(self, original: Any) -> Any:
        def compile(module: nn.Module, *args: Any, **kwargs: Any) -> None:
            original(module, *args, **kwargs)
            if self._observer.listening:
                self.how.add("module")
                self._look_for_compiled()
                self._observer.reinstall()

        return compile

    def _wrap_optimized(self, original: Any) -> Any:
        observer = self._observer

        @functools.wraps(original)
        def call(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling() or not observer.listening:
                return original(module, *args, **kwargs)
            self.how.add("module")
            compiled: nn.Module = module._orig_mod  # type: ignore[assignment]
            observer.alarms.keeper.leave(type(compiled))
            observer.alarms.keeper.keep(compiled, args, kwargs)
            patches = observer.patches
            attached = patches.module_hooks_attached
            patches.direct()
            patches.detach_module_hooks()
            try:
                return original(module, *args, **kwargs)
            finally:
                if not self.inlined:
                    patches.divert()
                if attached:
                    patches.attach_module_hooks()

        return call

    def note(self, step: int) -> None:
        """After an observed step: say once what a compiler hides."""
        if self._written:
            return
        observer = self._observer
        self._look_for_compiled()
        unseen = observer.forward.unseen()
        if not unseen or not self.how:
            return
        self._written = True
        total = len(observer.watched.module_names)
        data = {"how": sorted(self.how), "unseen": unseen[:_NAMES], "unseen_count": len(unseen), "modules": total}
        observer.recorder.fact("model.compiled", step, None, data)

    def see_graph(self, root: Tensor) -> None:
        """A function that was compiled earlier shows only in the graph that it made, where a node says so."""
        if self._written or self.how or root.grad_fn is None:
            return
        if any(operation(node).startswith("CompiledFunction") for node in autograd.walk(root.grad_fn, 30)):
            self.how.add("function")
            self._observer.patches.direct()
