"""Stage 1: torch → Observation. The only stage that touches the user's tensors, and it never changes one."""
