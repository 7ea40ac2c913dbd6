"""The named attacks, as a scenario names them."""

from valid_ref.adversary.benign import Benign

AttackPart = Benign
"""Any named attack; told apart by its kind."""
