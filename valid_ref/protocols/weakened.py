"""What a run leaves out of the protocol, and what its parameters let it check less."""

from fractions import Fraction

from valid_ref.protocols.parameters import CheckedKeys, ValidParameters

NOTED_CHANCE = Fraction(1, 10**6)
"""A larger chance that the hashes do not see a lie is said."""


def left_out(parameters: ValidParameters) -> tuple[str, ...]:
    """The repairs that are turned off, and the parts of lean validation that are left out.

    Nothing is promised for such a run: they are there to show what each is for.

    Implements: RE-20, VA-7, LE-18.
    """
    parts = () if parameters.lean is None else parameters.lean.without
    repairs = (f"the repair {name}" for name in parameters.reading.turned_off)
    return (*repairs, *(f"the part {name!r} of lean validation" for name in parts))


def checked_less(parameters: ValidParameters, honest: int = 1) -> tuple[str, ...]:
    """What parameters that the specification admits leave unchecked, each with its clause.

    `honest` agents have keys that nobody foresees; at least one does.

    Implements: RE-20.
    """
    chance = _unseen(parameters, honest)
    own = parameters.checked_keys is CheckedKeys.OWN
    return tuple(
        words
        for said, words in (
            (own, "every agent checks under its own key alone (LV-10)"),
            (parameters.bounds is None, "there are no norm bounds (LV-2)"),
            (not parameters.weightings, "neither optimality nor heterogeneity is tested (GV-12)"),
            (
                chance > NOTED_CHANCE,
                f"p is so small that the hashes miss a lie with a chance of up to "
                f"{float(chance):.1g} ({'L2' if parameters.lean is None else 'LE-15'})",
            ),
        )
        if said
    )


def _unseen(parameters: ValidParameters, honest: int) -> Fraction:
    """((dT-1)/p)^k for k keys that nobody foresees: kappa, or those of the honest agents."""
    lattice = parameters.lattice
    terms = lattice.dimension * lattice.schedule.rounds
    keys = honest if parameters.lean is None else parameters.lean.kappa
    return min(Fraction(1), Fraction(terms - 1, parameters.field.prime)) ** keys
