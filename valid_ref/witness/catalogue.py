"""All witnesses by erratum."""

from valid_ref.witness import broadcasts, honest_runs, numbers, validation
from valid_ref.witness.story import Witness

WITNESSES: dict[str, Witness] = {
    witness.erratum: witness
    for witness in sorted(
        (
            *broadcasts.WITNESSES,
            *honest_runs.WITNESSES,
            *numbers.WITNESSES,
            *validation.WITNESSES,
        ),
        key=lambda witness: witness.erratum,
    )
}
