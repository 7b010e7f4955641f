"""How the loss went."""
