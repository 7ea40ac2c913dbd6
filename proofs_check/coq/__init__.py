"""The proofs in Coq, and what ties their definitions to the machines of `valid_ref`."""
