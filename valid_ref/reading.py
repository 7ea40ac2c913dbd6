"""Readings of the paper: every repair of the protocol can be turned off alone."""

import attrs

from valid_ref.arguments import require_text, require_type
from valid_ref.errors import ValidRefError


class ReadingError(ValidRefError):
    """A switch that does not exist."""


@attrs.frozen
class Reading:
    """One switch per protocol erratum that a run can show; True is the repaired text.

    Implements: VA-7.
    """

    P01: bool = True
    """A compare-only round and an alarm over null end every broadcast."""
    P04: bool = True
    """In the agreement an agent's own alarm persists."""
    P05: bool = True
    """The agreement takes |V|-1 rounds, not |E|."""
    P06: bool = True
    """Assumption 1+ is demanded, not only Assumption 1."""
    P07: bool = True
    """Every agent compares the reports about itself with its own record."""
    P08: bool = True
    """Every agent checks every agent, not only its neighbours."""
    P09: bool = True
    """No own-key hashes are broadcast before the keys."""
    P11: bool = True
    """Keys are drawn after the last learning message."""
    P13: bool = True
    """The relation subtracts Gamma."""
    P14: bool = True
    """The mixing input of round t+1 is a_(t+1) x(t), not a_t x(t)."""
    P15: bool = True
    """Gamma is hashed where Gamma is meant, and a report about v is taken for v."""
    P17: bool = True
    """Gamma absorbs the rounding of the model, so the relation is exact."""
    P20: bool = True
    """The range rule keeps every difference below p."""
    P22: bool = True
    """A broadcast value is forwarded once, not in every round."""
    P24: bool = True
    """The weights of the estimates cover all T rounds and are divided by their sum."""
    P27: bool = True
    """Heterogeneity is tested on the lengths of averaged gradients, not on averaged lengths."""

    def __attrs_post_init__(self) -> None:
        for name in self.switches():
            require_type(getattr(self, name), bool, name, "True or False")

    @classmethod
    def repaired(cls) -> "Reading":
        """The specification: every repair on."""
        return cls()

    @classmethod
    def as_printed(cls) -> "Reading":
        """The paper as it stands: every repair off."""
        return cls(**dict.fromkeys(cls.switches(), False))

    @classmethod
    def without(cls, *errata: str) -> "Reading":
        """The specification with these repairs turned off.

        Implements: VA-7.
        """
        for erratum in errata:
            require_text(erratum, "errata")
            if erratum not in cls.switches():
                raise ReadingError(
                    f"no switch {erratum}; there are {', '.join(cls.switches())}, and as-printed "
                    "for all of them",
                    clause="VA-7",
                )
        return cls(**dict.fromkeys(errata, False))

    @classmethod
    def switches(cls) -> tuple[str, ...]:
        """The errata that have a switch."""
        return tuple(field.name for field in attrs.fields(cls))

    @property
    def turned_off(self) -> tuple[str, ...]:
        """The repairs that this reading leaves out."""
        return tuple(name for name in self.switches() if not getattr(self, name))
