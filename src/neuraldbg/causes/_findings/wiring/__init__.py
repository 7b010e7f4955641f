"""Which parameters train, which modules are reached, which mode they run in."""
