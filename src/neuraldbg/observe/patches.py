"""Everything that is put into torch while a session is open, each with its undoing.

All of it is global to the process and none of it touches the user's objects: a model that is copied, pickled or saved
inside the block carries nothing of ours.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional
from torch.nn.modules import module as module_hooks
from torch.optim import optimizer as optimizer_hooks

from neuraldbg.observe.autograd import leave_alone

if TYPE_CHECKING:
    from neuraldbg.observe.observer import Observer

#: Losses whose value is kept when they are computed without gradients: that is what validation looks like.
EVALUATION_LOSSES = (
    "cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "kl_div", "gaussian_nll_loss", "poisson_nll_loss", "hinge_embedding_loss",
    "cosine_embedding_loss", "triplet_margin_loss", "margin_ranking_loss", "ctc_loss",
)  # fmt: skip


def _detour(function: types.FunctionType, way: Callable[..., Any] | None, replacement: Callable[..., Any]) -> Any:
    """Code for a function that runs ``replacement`` with gradients off, ``way`` with gradients on; always
    ``replacement`` without a way.

    It has the signature of the function and calls by position: at every step of a training its loss goes this way, and
    handing on a list and a dictionary of arguments would cost more than the detour.
    """
    names, arguments = [], []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in names:
            names.append("*")
        names.append(name if parameter.default is parameter.empty else f"{name}=None")
        arguments.append(f"{name}={name}" if parameter.kind is parameter.KEYWORD_ONLY else name)
    call = f"({', '.join(arguments)})"
    ahead = f" _on = '<on>'\n _way = '<way>'\n if _on(): return _way{call}\n" if way is not None else ""
    made: dict[str, Any] = {}
    exec(f"def detour({', '.join(names)}):\n{ahead} _ours = '<ours>'\n return _ours{call}\n", made)
    code: types.CodeType = made["detour"].__code__
    constants: dict[Any, Any] = {"<on>": torch.is_grad_enabled, "<way>": way, "<ours>": replacement}
    return code.replace(
        co_consts=tuple(constants.get(value, value) for value in code.co_consts),
        co_filename=function.__code__.co_filename,
        co_firstlineno=function.__code__.co_firstlineno,
        co_name=function.__code__.co_name,
    )


def _open_ended(function: types.FunctionType) -> bool:
    """Whether a function takes any number of arguments."""
    return bool(function.__code__.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS))


class Patches:
    """Puts the observer's callbacks into torch, and takes all of them out again."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._stack = contextlib.ExitStack()
        self._module_hooks: list[Any] = []
        #: (function, its own code, the code that leads to ours).
        self._diverted: list[tuple[types.FunctionType, types.CodeType, types.CodeType]] = []

    def install(self) -> None:
        observer = self._observer
        hidden = observer.compiling.hidden
        with contextlib.ExitStack() as stack:
            wrap_backward = observer.unobserved.wrap_backward
            before, after = observer.unobserved.step_hooks()
            self._replace(stack, torch.autograd, "backward", lambda original: hidden(wrap_backward(original)))
            for handle in (
                optimizer_hooks.register_optimizer_step_pre_hook(hidden(before)),
                optimizer_hooks.register_optimizer_step_post_hook(hidden(after)),
            ):
                stack.callback(handle.remove)
            scaler = torch.amp.GradScaler if hasattr(torch.amp, "GradScaler") else torch.cuda.amp.GradScaler
            self._replace(stack, scaler, "scale", self._wrap_scale)
            self._replace(stack, scaler, "unscale_", self._wrap_unscale)
            self._replace(stack, scaler, "step", self._wrap_scaler_step)
            self._replace(stack, torch.autograd.graph.saved_tensors_hooks, "__enter__", self._wrap_saving)
            for name in EVALUATION_LOSSES:
                if hasattr(torch.nn.functional, name):
                    self._divert(stack, name, functools.partial(self._wrap_loss, name))
            self._divert(stack, "dropout", self._wrap_dropout, always=True)
            for owner, name, wrapper in observer.compiling.patches():
                self._replace(stack, owner, name, wrapper)
            if observer.compiling.inlined:
                self.direct()
            stack.callback(self._diverted.clear)
            stack.callback(self.detach_module_hooks)
            self._stack = stack.pop_all()

    @property
    def module_hooks_attached(self) -> bool:
        return bool(self._module_hooks)

    def remove(self) -> None:
        self._stack.close()

    def attach_module_hooks(self) -> None:
        """Two global hooks; about two microseconds to put in and take out, so that unobserved steps carry none."""
        if not self._module_hooks:
            observer = self._observer
            self._module_hooks = [
                module_hooks.register_module_forward_pre_hook(observer.on_forward_begins),
                module_hooks.register_module_forward_hook(observer.on_forward_ends, with_kwargs=True),
            ]

    def detach_module_hooks(self) -> None:
        for handle in self._module_hooks:
            handle.remove()
            # torch forgets this one of its tables.
            getattr(module_hooks, "_global_forward_hooks_with_kwargs", {}).pop(handle.id, None)
        self._module_hooks = []

    @staticmethod
    def _replace(stack: contextlib.ExitStack, owner: Any, name: str, wrap: Callable[[Any], Any]) -> None:
        original = getattr(owner, name)
        replacement = functools.wraps(original)(wrap(original))
        setattr(owner, name, replacement)

        def undo() -> None:
            # Somebody may have wrapped ours in the meantime; taking theirs away would break them.
            if getattr(owner, name) is replacement:
                setattr(owner, name, original)

        stack.callback(undo)

    def direct(self) -> None:
        """Functionals run their own code again, which is what a compiler has seen; ``divert`` is the way back."""
        for function, code, detour in self._diverted:
            if function.__code__ is detour:
                function.__code__ = code

    def divert(self) -> None:
        for function, code, detour in self._diverted:
            if function.__code__ is code:
                function.__code__ = detour

    def _divert(self, stack: contextlib.ExitStack, name: str, wrap: Callable[[Any], Any], always: bool = False) -> None:
        """Send calls of a functional through ours, those with gradients off or ``always``, while it stays the same
        object.

        A model may hold ``F.mse_loss`` as an attribute; pickle takes a function by its name and refuses it when another
        one is found there. So the function keeps its place, and runs other code for a while.
        """
        function = getattr(torch.nn.functional, name)
        if not isinstance(function, types.FunctionType) or function.__closure__ is not None or _open_ended(function):
            Patches._replace(stack, torch.nn.functional, name, wrap)
            return
        code = function.__code__
        original = types.FunctionType(code, function.__globals__, name, function.__defaults__)
        original.__kwdefaults__ = function.__kwdefaults__
        replacement = wrap(original)
        detour = _detour(function, None if always else original, replacement)
        function.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        function.__code__ = detour

        self._diverted.append((function, code, detour))

        def undo() -> None:
            if function.__code__ is detour:
                function.__code__ = code
            if function.__code__ is code:
                vars(function).pop("__signature__", None)

        stack.callback(undo)

    def _wrap_scale(self, original: Any) -> Any:
        observer = self._observer

        def scale(scaler: Any, outputs: Any) -> Any:
            scaled = original(scaler, outputs)
            if observer.listening:
                observer.steps.scales(scaler)
            return scaled

        return scale

    def _wrap_unscale(self, original: Any) -> Any:
        observer = self._observer

        def unscale_(scaler: Any, optimizer: Any) -> Any:
            if observer.listening:
                observer.steps.about_to_unscale(optimizer)
            result = original(scaler, optimizer)
            if observer.listening:
                observer.steps.unscaled(scaler, optimizer)
            return result

        return unscale_

    def _wrap_scaler_step(self, original: Any) -> Any:
        observer = self._observer

        def step(scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if not observer.listening:
                return original(scaler, optimizer, *args, **kwargs)
            before = observer.rounds.optimizer_steps
            observer.steps.before_scaler(scaler, optimizer)
            result = original(scaler, optimizer, *args, **kwargs)
            if observer.rounds.optimizer_steps == before and scaler.is_enabled():
                observer.steps.skipped(optimizer)
            return result

        return step

    def _wrap_saving(self, original: Any) -> Any:
        observer = self._observer

        def enter(hooks: Any) -> Any:
            if torch.compiler.is_compiling() or not observer.listening:
                return original(hooks)
            unpack = hooks.unpack_hook
            hooks.unpack_hook = leave_alone(unpack)
            try:
                return original(hooks)
            finally:
                hooks.unpack_hook = unpack

        return enter

    def _wrap_dropout(self, original: Any) -> Any:
        observer = self._observer

        def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
            if not torch.compiler.is_compiling() and training and p > 0 and observer.listening:
                if not torch.is_grad_enabled():
                    observer.on_dropout_in_evaluation(p)
                elif p >= 0.5:
                    observer.on_dropout(p)
            return original(input, p, training, inplace)

        return dropout

    def _wrap_loss(self, name: str, original: Any) -> Any:
        observer = self._observer

        def loss(*args: Any, **kwargs: Any) -> Any:
            if torch.is_grad_enabled():
                return original(*args, **kwargs)
            result = original(*args, **kwargs)
            # is_compiling comes first: under a compiler's trace it is a constant, and the rest is never traced. A
            # subclass of Tensor may be one of a tracer, that has no numbers.
            if torch.compiler.is_compiling() or type(result) is not torch.Tensor:
                return result
            if observer.listening:
                observer.on_evaluation_loss(name, result)
            return result

        return loss
