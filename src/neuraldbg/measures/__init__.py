"""Numbers derived from a trace, shared by detectors and causes. Pure functions; no torch."""
