"""Attacks: lists of edits, lies that keep the relation, and the named attacks of the catalogue."""

import enum
import functools
from collections.abc import Iterator
from typing import Any, get_type_hints

import attrs
from hypothesis import strategies as st

from valid_ref.adversary.attack import Setting
from valid_ref.adversary.catalogue import ATTACKS, AttackPart
from valid_ref.adversary.edits import Edits
from valid_ref.errors import ValidRefError
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.learn import PHASE as LEARN
from valid_ref.protocols.valid import ESTIMATES, HASHES, KEYS
from valid_ref.scenario import Scenario, prepare
from valid_ref.testing.edits import edit_lists, excursions, last_pushes

PHASES = (LEARN, KEYS, HASHES, ESTIMATES, AGREEMENT)


@functools.lru_cache(maxsize=4096)
def named_attacks() -> tuple[AttackPart, ...]:
    """Every attack of the catalogue with its defaults, then with each other choice of an option.

    Choices are those of options that are enumerations, flags or phases; edits are left out.
    """
    found: list[AttackPart] = [kind() for kind in ATTACKS.values() if kind is not Edits]
    return (*found, *(other for attack in found for other in _variants(attack)))


def _variants(attack: AttackPart) -> Iterator[AttackPart]:
    hints = get_type_hints(type(attack))
    for field in attrs.fields(type(attack)):
        for choice in _choices(field.name, hints[field.name]):
            if choice != getattr(attack, field.name):
                options: Any = attrs.asdict(attack, recurse=False) | {field.name: choice}
                yield type(attack)(**options)


def _choices(name: str, kind: object) -> tuple[object, ...]:
    if name == "phase":
        return PHASES
    if kind is bool:
        return False, True
    return tuple(kind) if isinstance(kind, enum.EnumMeta) else ()


@st.composite
def fitting_attacks(draw: st.DrawFn, scenario: Scenario) -> AttackPart:
    """The named attacks that can be built on a scenario with Byzantine agents."""
    prepared = prepare(attrs.evolve(scenario, attack=None))
    setting = Setting(
        prepared.parameters, prepared.problem, prepared.byzantine, prepared.delta, scenario.seed
    )

    def fits(attack: AttackPart) -> bool:
        try:
            attack.build(setting)
        except ValidRefError:
            return False
        return True

    return draw(st.sampled_from(named_attacks()).filter(fits))


def attacks(scenario: Scenario) -> st.SearchStrategy[AttackPart]:
    """Any attack on this scenario; edits come first, as they shrink best."""
    return st.one_of(
        edit_lists(scenario),
        last_pushes(scenario),
        excursions(scenario),
        fitting_attacks(scenario),
    )
