"""What an event is about where no module is concerned; detectors write these words, the graph reads them."""

from __future__ import annotations

LOSS = "the loss"
VALIDATION = "the validation loss"
UPDATES = "the updates"
WEIGHTS = "the weights"
LEARNING_RATE = "the learning rate"
OPTIMIZER = "the optimizer"
GRADIENT = "the gradient"
TARGET = "the targets"
#: Followed by the name of the input, "the input [0]".
INPUT = "the input"
