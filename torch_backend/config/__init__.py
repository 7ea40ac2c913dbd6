"""Experiments as documents: what they consist of, how they are read, the jobs they stand for."""
