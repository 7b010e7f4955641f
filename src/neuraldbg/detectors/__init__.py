"""Stage 2: from numbers over time to changes of state. One file per detector, found by its name."""

from neuraldbg.detectors._run import detect_events, detectors

__all__ = ["detect_events", "detectors"]
