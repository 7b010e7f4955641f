"""One file per framework or tracker; each is imported by its user alone, and needs that framework only."""
