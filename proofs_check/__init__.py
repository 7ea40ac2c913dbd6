"""Machine-checked steps of the lemmas and theorems, one module per statement."""
