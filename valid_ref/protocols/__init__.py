"""The protocols of the paper, repaired, one pure machine each."""
