"""START HERE. What NeuralDBG does, in order: a trace in, a diagnosis out. Needs no torch.

Recording is ``session.py`` (the block) and ``observe/``; they end in a trace file. Everything below starts from it.
"""

from __future__ import annotations

from neuraldbg.records import Diagnosis, Trace


def diagnose(trace: Trace) -> Diagnosis:
    """Explain a recorded run."""
    return Diagnosis("unseen", "under construction", trace.steps)
