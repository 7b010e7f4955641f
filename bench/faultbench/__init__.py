"""FaultBench: small training programs with one known fault each, and healthy ones; measures how causes are named."""
