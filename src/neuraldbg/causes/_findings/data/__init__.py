"""What comes in with the batches, and what the predictions make of it."""
