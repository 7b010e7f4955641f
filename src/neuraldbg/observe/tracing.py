"""Whether torch is writing down a program instead of running a step of training."""

from __future__ import annotations

from typing import Any

import torch
import torch.fx._symbolic_trace as symbolic

_is_recorded: Any = torch._C._is_tracing
_modes: Any = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 0)
_mode_of: Any = getattr(torch._C, "_get_dispatch_mode", lambda key: None)
_FAKE: Any = getattr(getattr(torch._C, "_TorchDispatchModeKey", None), "FAKE", None)


def tracing() -> bool:
    """Whether the user's code runs under a tracer: torch.jit.trace, torch.fx, make_fx, torch.export, FakeTensorMode.

    What we compute then would become part of the recorded program, or reads tensors that hold no numbers. A callback
    that a compiler may trace has to ask ``torch.compiler.is_compiling()`` first, which is a constant to it.
    """
    if _is_recorded() or getattr(symbolic, "_is_fx_tracing_flag", False):
        return True
    return bool(_modes() and _FAKE is not None and _mode_of(_FAKE) is not None)
