"""FaultBench: small training programs with one known fault each, and healthy ones, to measure how well causes are named."""
