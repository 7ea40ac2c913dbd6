"""Witnesses: for every erratum that a run can show, the run."""

from valid_ref.witness import runs, small_cases
from valid_ref.witness.story import Witness

WITNESSES: dict[str, Witness] = {
    witness.erratum: witness
    for witness in sorted((*small_cases.WITNESSES, *runs.WITNESSES), key=lambda one: one.erratum)
}
"""All witnesses by erratum."""
