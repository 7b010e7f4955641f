"""Every error that NeuralDBG raises on purpose.

    NeuralDbgError
    ├── UsageError (also ValueError)      a call that cannot be carried out as written
    │   ├── UnknownFailureType            explain_failure("...") with a name that does not exist
    │   └── NestedSessionError            NeuralDbg(model) inside another one
    ├── TraceError                        a trace file that cannot be used
    │   ├── NotATrace                     missing, foreign or damaged
    │   └── TraceTooNew                   written by a newer version
    ├── RuleError                         a rule file that does not follow the contract
    └── TrainingFailure (also RuntimeError)   raised in the user's loop, only with on_non_finite="raise"

Each message says what was expected, what was found, and what to do.
"""

from __future__ import annotations


class NeuralDbgError(Exception):
    """The root of the tree."""


class UsageError(NeuralDbgError, ValueError):
    """A call that cannot be carried out as written."""


class UnknownFailureType(UsageError):
    """A failure type that does not exist."""


class NestedSessionError(UsageError):
    """A session was opened inside another one."""


class TraceError(NeuralDbgError):
    """A trace file that cannot be used."""


class NotATrace(TraceError):
    """The file is missing, foreign or damaged."""


class TraceTooNew(TraceError):
    """The file was written by a newer version."""


class RuleError(NeuralDbgError):
    """A detector or cause that does not follow the contract."""


class TrainingFailure(NeuralDbgError, RuntimeError):
    """Raised in the user's loop at a non-finite value, only when the user asked for it."""
