"""The lever: every way in which an intervention acts on torch, each with its undoing.

Nothing is stored in the user's objects for longer than it must be: an optimizer's settings change for the duration of a
step, a module's flags for the duration of a call. Everything is taken back in reverse order, whatever happens inside.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType, TracebackType
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim import optimizer as optimizer_hooks

from neuraldbg.verify._calls import Call
from neuraldbg.verify._elsewhere import Elsewhere
from neuraldbg.verify._rounds import Rounds


@dataclass(frozen=True)
class Target:
    """What a hypothesis blames."""

    #: A code of the vocabulary, or "".
    cause: str = ""
    #: Module path ("" is the root), or None.
    layer: str | None = None
    #: Parameter path, or None.
    parameter: str | None = None
    #: Step at which the cause starts to act.
    step: int = 0
    #: Rounds that the run will take.
    steps: int = 0


class Lever(contextlib.AbstractContextManager["Lever"]):
    """One intervention at work, from ``with`` to the end of the block."""

    def __init__(self, install: Callable[[Lever], None], target: Target, strength: float) -> None:
        self._install = install
        self.target = target
        self.strength = strength
        #: How often the intervention found something to change.
        self.acted = 0
        #: What it changed, in words, each once.
        self.changes: list[str] = []
        #: What the program's loss is to be multiplied with to be in the unit that it has without the intervention.
        self.unit = 1.0
        #: Rounds so far, counted by optimizer steps, or by backwards where no optimizer steps.
        self.step = 0
        self._rounds = Rounds()
        self._stack = contextlib.ExitStack()
        self._outer: list[nn.Module] = []
        self._optimizers: weakref.WeakSet[Optimizer] | None = None
        self._names: dict[int, list[tuple[ModuleType, str]]] | None = None
        self._elsewhere: Elsewhere | None = None

    def __enter__(self) -> Lever:
        with contextlib.ExitStack() as stack:
            self._stack = stack
            self._install(self)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    def did(self, change: str = "") -> None:
        """Note that something was changed."""
        self.acted += 1
        if change and change not in self.changes and len(self.changes) < 6:
            self.changes.append(change)

    def on_exit(self, undo: Callable[[], Any]) -> None:
        """Have something undone at the end of the block, last first."""
        self._stack.callback(undo)

    # functions ---------------------------------------------------------------------------------------------------

    def replace(self, owner: Any, name: str, make: Callable[[Any], Any], *, elsewhere: bool = True) -> None:
        """Replace an attribute of a class or module by ``make(original)``; nothing happens where there is none.

        A function of a module is also replaced wherever it was imported by name (``from torch import log``), and one of
        torch also where it is called by any other reference: an attribute, a table of activations, a closure. That last
        one has a cost for each call of torch; without ``elsewhere`` it is left out.
        """
        original = getattr(owner, name, None)
        if original is None:
            return
        replacement = make(original)
        if elsewhere and owner in (torch, torch.nn.functional, Tensor):
            if self._elsewhere is None:
                self._elsewhere = self._stack.enter_context(Elsewhere())
            replacement = self._elsewhere.add(original, replacement)
        with contextlib.suppress(AttributeError, TypeError):
            functools.update_wrapper(replacement, original)
        inherited = name not in vars(owner)
        setattr(owner, name, replacement)
        aliases = self._known_as(original, owner) if isinstance(owner, ModuleType) else []
        for module, alias in aliases:
            setattr(module, alias, replacement)

        def undo() -> None:
            for module, alias in aliases:
                if vars(module).get(alias) is replacement:
                    setattr(module, alias, original)
            if inherited:
                with contextlib.suppress(AttributeError):
                    delattr(owner, name)
            else:
                setattr(owner, name, original)

        self.on_exit(undo)

    def _known_as(self, original: Any, owner: ModuleType) -> list[tuple[ModuleType, str]]:
        """Where else a function is known by name: in the user's modules, not in torch's own."""
        if self._names is None:
            self._names = {}
            for path, module in list(sys.modules.items()):
                if type(module) is not ModuleType or path.split(".")[0] in ("torch", "neuraldbg"):
                    continue
                for alias, value in list(vars(module).items()):
                    if callable(value):
                        self._names.setdefault(id(value), []).append((module, alias))
        return [(module, alias) for module, alias in self._names.get(id(original), ()) if module is not owner]

    # modules -----------------------------------------------------------------------------------------------------

    def around_calls(self, act: Callable[[Call], Any]) -> None:
        """``act(call)`` stands in for every call of a module; ``call.proceed()`` carries it out."""

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def __call__(module: nn.Module, *arguments: Any, **keywords: Any) -> Any:
                call = Call(module, arguments, keywords, tuple(self._outer), original)
                self._outer.append(module)
                try:
                    return act(call)
                finally:
                    self._outer.pop()

            return __call__

        self.replace(nn.Module, "__call__", make)

    @property
    def inside_module(self) -> bool:
        """Whether a module is being called; kept up to date once something acts around calls."""
        return bool(self._outer)

    def before_model(self, act: Callable[[Call], None]) -> None:
        """``act(call)`` before every call of a model by the loop in which gradients are wanted."""

        def around(call: Call) -> Any:
            if call.is_root and torch.is_grad_enabled():
                act(call)
            return call.proceed()

        self.around_calls(around)

    # optimizers --------------------------------------------------------------------------------------------------

    def before_step(self, act: Callable[[Optimizer], None]) -> None:
        """``act(optimizer)`` before every step of an optimizer, with its gradients ready."""
        handle = optimizer_hooks.register_optimizer_step_pre_hook(lambda optimizer, *_: act(optimizer))
        self.on_exit(handle.remove)

    def after_step(self, act: Callable[[Optimizer], None]) -> None:
        """``act(optimizer)`` after every step; of nested levers, the last one first."""
        handle = optimizer_hooks.register_optimizer_step_post_hook(lambda optimizer, *_: act(optimizer))
        optimizer_hooks._global_optimizer_post_hooks.move_to_end(handle.id, last=False)
        self.on_exit(handle.remove)

    def count_steps(self) -> None:
        """Keep ``self.step``."""
        self.after_step(self._stepped)

    def _stepped(self, optimizer: Optimizer) -> None:
        self.step = self._rounds.stepped(id(optimizer))

    def settings(self, change: Callable[[dict[str, Any], Optimizer], Mapping[str, Any]]) -> None:
        """Give every parameter group other settings for the duration of each step.

        ``change(group, optimizer)`` returns what differs; settings that the group doesn't have are left out.
        """
        held: list[tuple[dict[str, Any], dict[str, Any]]] = []

        def restore(_: Any = None) -> None:
            while held:
                group, before = held.pop()
                group.update(before)

        def before(optimizer: Optimizer) -> None:
            restore()
            for group in optimizer.param_groups:
                wanted = {name: value for name, value in change(group, optimizer).items() if name in group}
                held.append((group, {name: group[name] for name in wanted}))
                group.update(wanted)

        self.on_exit(restore)
        self.before_step(before)
        self.after_step(restore)

    def optimizers(self) -> list[Optimizer]:
        """All optimizers that are alive, also those built before the block."""
        if self._optimizers is None:
            found = [thing for thing in gc.get_objects() if issubclass(type(thing), Optimizer)]
            known = self._optimizers = weakref.WeakSet(found)

            def make(original: Callable[..., None]) -> Callable[..., None]:
                def __init__(optimizer: Optimizer, *arguments: Any, **keywords: Any) -> None:
                    original(optimizer, *arguments, **keywords)
                    known.add(optimizer)

                return __init__

            self.replace(Optimizer, "__init__", make)
        return list(self._optimizers)

    # backward ----------------------------------------------------------------------------------------------------

    def around_backward(self, act: Callable[[Any, Callable[[Any], None]], None]) -> None:
        """``act(tensors, proceed)`` stands in for every backward; ``proceed(tensors)`` carries it out."""

        def make(original: Callable[..., None]) -> Callable[..., None]:
            def backward(tensors: Any, *arguments: Any, **keywords: Any) -> None:
                act(tensors, lambda given: original(given, *arguments, **keywords))

            return backward

        self.replace(torch.autograd, "backward", make)

    def gradients(self, optimizer: Optimizer) -> Iterator[Tensor]:
        """The gradients that an optimizer is about to use."""
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    yield parameter.grad
