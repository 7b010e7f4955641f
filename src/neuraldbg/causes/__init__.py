"""Stage 4: CausalGraph → CausalHypothesis. One file per cause, named as in vocabulary.toml."""
