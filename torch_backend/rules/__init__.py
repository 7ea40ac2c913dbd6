"""How an agent combines what it received with its own model, on the lattice."""
