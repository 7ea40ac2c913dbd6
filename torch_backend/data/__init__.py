"""Data sets, how they are dealt to the agents, and the batches that agents draw."""
