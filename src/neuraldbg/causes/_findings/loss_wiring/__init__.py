"""How the loss is built: its graph, its shapes, its sign and scale."""
