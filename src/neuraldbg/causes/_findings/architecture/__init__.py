"""The model: its depth, its units, its weights before training."""
