"""NeuralDBG says why a PyTorch training run failed: the root cause, the layer, the step, and the chain to the symptom.

Importing it imports nothing else: the names below are loaded at their first use, so that a trace can be explained on a
machine without torch, and so that ``import neuraldbg`` costs a script nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neuraldbg.pipeline import diagnose
    from neuraldbg.records import CausalHypothesis, Diagnosis, SemanticEvent
    from neuraldbg.session import NeuralDbg
    from neuraldbg.verify import verify

__version__ = "0.1.0"

__all__ = ["CausalHypothesis", "Diagnosis", "NeuralDbg", "SemanticEvent", "__version__", "diagnose", "verify"]

#: Public name → the module that defines it.
_HOMES = {
    "CausalHypothesis": "neuraldbg.records",
    "Diagnosis": "neuraldbg.records",
    "NeuralDbg": "neuraldbg.session",
    "SemanticEvent": "neuraldbg.records",
    "diagnose": "neuraldbg.pipeline",
    "verify": "neuraldbg.verify",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'neuraldbg' has no attribute {name!r}")
    module = import_module(home)
    # verify is a folder that can be called: as an attribute it is the same thing, whichever import came first.
    value = globals()[name] = module if home == f"{__name__}.{name}" else getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
