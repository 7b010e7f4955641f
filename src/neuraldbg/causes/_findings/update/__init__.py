"""Steps, gradients over time, and the optimizer's settings."""
