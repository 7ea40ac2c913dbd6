"""Whole runs with every named attack of the catalogue."""

import attrs

from valid_ref.adversary.broadcasts import (
    LastRoundEquivocator,
    LateFalseAlarm,
    RelayTamperer,
    SilentSource,
)
from valid_ref.adversary.catalogue import AttackPart
from valid_ref.adversary.data import Benign, DeltaPlusEpsilon, LabelFlip
from valid_ref.adversary.gradients import ConsistentGradientLie, DriftPush, InconsistentGradient
from valid_ref.adversary.hidden import HiddenHashes, HiddenTranscripts
from valid_ref.adversary.models import (
    Alie,
    Dissensus,
    Equivocation,
    Gaussian,
    InnerProduct,
    Isolation,
    Mimic,
    SignFlip,
    SpectralHeterogeneity,
)
from valid_ref.adversary.reports import (
    BalancedReport,
    EstimateLiar,
    FalseReport,
    HashLiar,
    LoneVictim,
)
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.parameters import CheckedKeys
from valid_ref.protocols.valid import ESTIMATES, HASHES, KEYS
from valid_ref.scenario import parts
from valid_ref.vectors.document import Case, Family
from valid_ref.vectors.runs import run_case, run_family
from valid_ref.vectors.runs_edits import edited
from valid_ref.vectors.scenarios import attacked, early_keys

NARROW = parts.Check("t", parts.Polynomial(), parts.ConfiguredThresholds(64.0, 8.0))
HIDDEN = ("path:6", (0, 1, 4, 5))


def _attack(
    comment: str, attack: AttackPart, graph: str = "complete:3", byzantine: tuple[int, ...] = (2,),
    name: str = "", source: str = "AD-9",
) -> Case:  # fmt: skip
    identifier = f"attack/run/{attack.kind}{name and '-'}{name}"
    return run_case(identifier, source, comment, attacked(attack, graph, byzantine))


def _learning() -> tuple[Case, ...]:
    return (
        _attack("honest code on chosen data: nobody can tell", Benign(), source="GU-11 AD-9"),
        run_case("attack/run/delta-plus-epsilon", "A14 AD-9",
                 "chosen data between delta and delta + epsilon",
                 attrs.evolve(attacked(DeltaPlusEpsilon()), checks=(NARROW,))),
        _attack("honest code on flipped data", LabelFlip()),
        _attack("honest code that climbs", LabelFlip(ascend=True), name="ascend"),
        _attack("noise on the model, one to all", Gaussian()),
        _attack("noise, another on every edge", Gaussian(per_edge=True), name="per-edge"),
        _attack("the own model negated", SignFlip()),
        _attack("a little is enough", Alie()),
        _attack("inner-product manipulation", InnerProduct()),
        _attack("copies another agent", Mimic()),
        _attack("pushes away from the mean, edge by edge", Dissensus()),
        _attack("cuts a victim off", Isolation()),
        _attack("pushes along the second eigenvector", SpectralHeterogeneity()),
        _attack("one model to some, another to others", Equivocation()),
        _attack("Gamma one unit off", InconsistentGradient()),
        _attack("a false gradient that keeps the relation", ConsistentGradientLie()),
        _attack("as far as the norm bound allows", DriftPush()),
    )  # fmt: skip


def _validation() -> tuple[Case, ...]:
    return (
        _attack("false hashes", HashLiar(), source="LV-9 AD-9"),
        _attack("hashes of another transcript", FalseReport(), source="LV-7 AD-9"),
        _attack("on a path: the only reporter of an end", FalseReport(), "path:3", (1,), "path",
                "LV-9 AD-9"),
        _attack("false estimates", EstimateLiar(), source="GV-4 AD-9"),
        _attack("a false length", EstimateLiar(norm=True), name="norm", source="GV-4 AD-9"),
        run_case("attack/run/balanced-report", "LV-7 P08 AD-9",
                 "a broken relation, balanced by a false report",
                 attrs.evolve(attacked(BalancedReport(), "cycle:5", (0,)),
                              keys_checked=CheckedKeys.OWN)),
        _attack("the only neighbour draws an agent away", LoneVictim(4.0), "path:2", (1,),
                source="LV-9 P07 AD-9"),
        _attack("a source of keys that says nothing of its own", SilentSource(),
                source="VB-8 AD-9"),
        *(
            _attack("wholly silent in one phase", SilentSource(phase, wholly=True), name=name,
                    source="MO-8 AD-9")
            for name, phase in (("learning", LEARNING), ("keys", KEYS), ("hashes", HASHES),
                                ("estimates", ESTIMATES), ("agreement", AGREEMENT))
        ),
        _attack("two keys in the last flood round", LastRoundEquivocator(), source="VB-6 AD-9"),
        _attack("changes what it relays", RelayTamperer(), source="VB-6 AD-9"),
        _attack("an alarm in the last round", LateFalseAlarm(), "path:4", (0,), source="S4 AD-9"),
        _attack("invented hashes of agents that nobody honest hears", HiddenHashes(), *HIDDEN,
                source="AD-6 P06 AD-9"),
        _attack("invented transcripts of agents that nobody honest hears", HiddenTranscripts(),
                *HIDDEN, source="AD-6 P06 AD-9"),
        run_case("attack/run/early-keys", "P11 LV-1 AD-9",
                 "as printed keys are known before the transcripts are fixed: the broken relation "
                 "is not noticed",
                 early_keys()),
    )  # fmt: skip


def family() -> Family:
    """All runs with attacks."""
    return run_family(
        "runs-attacks",
        "Whole runs with the named attacks of the catalogue, and with single edited messages.",
        (*_learning(), *_validation(), *edited()),
    )
