"""The experiments on CPU or GPU; every verdict is taken from `valid_ref`."""
