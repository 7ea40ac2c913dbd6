"""Whole runs with every named attack, with single edited messages, and those that show the errata.

The witnesses of the broadcast and of the agreement (P01, P02, P04, P05, P22, P26) are in those
families, those of the hash (P18, P19, P20) in that of the hash.
"""

import attrs

from valid_ref.adversary.actions import (
    Action,
    Add,
    Drop,
    Entries,
    Flag,
    Forge,
    Integer,
    Integers,
    Learning,
    Replay,
    Set,
    Swap,
    Text,
)
from valid_ref.adversary.broadcasts import (
    LastRoundEquivocator,
    LateFalseAlarm,
    RelayTamperer,
    SilentSource,
)
from valid_ref.adversary.catalogue import AttackPart
from valid_ref.adversary.data import Benign, DeltaPlusEpsilon, LabelFlip
from valid_ref.adversary.edits import Edit, Edits, without_alarm
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
from valid_ref.lattice import FloatVector, default_limits
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.parameters import CheckedKeys
from valid_ref.protocols.valid import ESTIMATES, HASHES, KEYS
from valid_ref.scenario import Scenario, parts, prepare
from valid_ref.scenario.build import Prepared
from valid_ref.schedule import Schedule
from valid_ref.vectors.document import VectorCase, VectorFamily
from valid_ref.vectors.runs import (
    PRECISION,
    SIZES,
    STEPS,
    attacked,
    changed,
    early_keys,
    run_case,
    run_family,
    small,
)

NARROW = parts.Check("t", parts.Polynomial(), parts.ConfiguredThresholds(64.0, 8.0))
HIDDEN = ("path:6", (0, 1, 4, 5))


def _attack(
    comment: str,
    attack: AttackPart,
    graph: str = "complete:3",
    byzantine: tuple[int, ...] = (2,),
    *,
    name: str = "",
    source: str = "",
) -> VectorCase:
    identifier = f"attack/run/{attack.kind}{name and '-'}{name}"
    scenario = attacked(attack, graph, byzantine)
    return run_case(identifier, f"{source} AD-9", comment, scenario)


FAR = 2**45
"""In range, and beyond the norm bounds."""

LIMIT = default_limits(
    1, Schedule(PRECISION, STEPS.a, STEPS.A), SIZES["complete:3"] - 1
).model_limit
"""X_max of these runs."""


def _edited(
    name: str, source: str, comment: str, row: tuple[str, int | None, int | None, Action]
) -> VectorCase:
    """Agent 2 changes one message and says "no alarm" in the agreement.

    The row has the phase, the round, the receiver (None for all) and what is done.
    """
    phase, number, receiver, action = row
    edit = Edit(phase, number, 2, receiver, action)
    quiet = () if phase == AGREEMENT else without_alarm(2)
    scenario = attacked(Edits((edit, *quiet)))
    return run_case(f"attack/run/edits-{name}", f"{source} AD-9", comment, scenario)


def _thrown_out() -> VectorCase:
    """With eta = 2 a model in range throws those who mix it in out of range."""
    edit = Edit(LEARNING, 1, 2, None, Forge("model", Integers((2**50,))))
    scenario = attrs.evolve(
        attacked(Edits((edit, *without_alarm(2)))),
        schedule=parts.ExplicitSteps((128, 128, 128), (20, 14, 10)),
    )
    return run_case(
        "attack/run/edits-own-update-out-of-range",
        "AR-14 LM-4 AD-9",
        "a model in range throws its receivers out of range: they alarm and fall silent",
        scenario,
    )


def _attacks() -> tuple[VectorCase, ...]:
    """Every named attack, then an edited message for every way in which one can be wrong."""
    own_keys = attrs.evolve(
        attacked(BalancedReport(), "cycle:5", (0,)), keys_checked=CheckedKeys.OWN
    )
    phases = {
        "learning": LEARNING,
        "keys": KEYS,
        "hashes": HASHES,
        "estimates": ESTIMATES,
        "agreement": AGREEMENT,
    }
    return (
        _attack("honest code on chosen data: nobody can tell", Benign(), source="GU-11"),
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
        _attack("false hashes", HashLiar(), source="LV-9"),
        _attack("hashes of another transcript", FalseReport(), source="LV-7"),
        _attack("on a path: the only reporter of an end", FalseReport(), "path:3", (1,),
                name="path", source="LV-9"),
        _attack("false estimates", EstimateLiar(), source="GV-4"),
        run_case("attack/run/estimate-liar-norm", "GV-4 P27 AD-9",
                 "a false length; there is one as printed only",
                 attrs.evolve(attacked(EstimateLiar(norm=True)), without=("P27",))),
        run_case("attack/run/balanced-report", "LV-7 P08 AD-9",
                 "a broken relation, balanced by a false report", own_keys),
        _attack("the only neighbour draws an agent away", LoneVictim(4.0), "path:2", (1,),
                source="LV-9 P07"),
        _attack("a source of keys that says nothing of its own", SilentSource(), source="VB-8"),
        *(_attack("wholly silent in one phase", SilentSource(phase, wholly=True), name=name,
                  source="MO-8") for name, phase in phases.items()),
        _attack("two keys in the last flood round", LastRoundEquivocator(), source="VB-6"),
        _attack("changes what it relays", RelayTamperer(), source="VB-6"),
        _attack("an alarm in the last round", LateFalseAlarm(), "path:4", (0,), source="S4"),
        _attack("invented hashes of agents that nobody honest hears", HiddenHashes(), *HIDDEN,
                source="AD-6 P06"),
        _attack("invented transcripts of agents that nobody honest hears", HiddenTranscripts(),
                *HIDDEN, source="AD-6 P06"),
        run_case("attack/run/early-keys", "P11 LV-1 AD-9",
                 "as printed keys are known before the transcripts are fixed: the broken "
                 "relation is not noticed",
                 early_keys()),
        _edited("learning-missing", "LM-4 MO-8", "silence in round 2: zeros in its place",
                (LEARNING, 2, 0, Drop())),
        _edited("learning-malformed", "LM-4 AR-11", "a text in round 1",
                (LEARNING, 1, 0, Set(Text("garbage")))),
        _edited("learning-short", "LM-4 AR-11", "a vector of the wrong length",
                (LEARNING, 1, 0, Set(Learning((1, 2), (3, 4))))),
        _edited("learning-out-of-range", "LM-4 AR-11", "an entry beyond X_max",
                (LEARNING, 3, 0, Add((2**60,), "model"))),
        _edited("learning-on-limit", "LM-4 AR-11", "an entry that is X_max",
                (LEARNING, 3, 0, Forge("model", Integers((LIMIT,))))),
        _edited("learning-least-word", "LM-4 AR-11", "an entry that is -2^63",
                (LEARNING, 2, 0, Forge("scaled_gradient", Integers((-(2**63),))))),
        _edited("learning-range-and-form", "LM-4 AR-11 MO-8",
                "a model out of range beside a gradient of the wrong length: malformed, one alarm",
                (LEARNING, 2, 0, Set(Learning((2**60,), (3, 4))))),
        _edited("learning-form-and-range", "LM-4 AR-11 MO-8",
                "a model of the wrong length beside a gradient out of range: malformed, one alarm",
                (LEARNING, 2, 0, Set(Learning((), (-(2**63),))))),
        _edited("learning-both-out-of-range", "LM-4 AR-11",
                "model and gradient out of range: one alarm",
                (LEARNING, 1, 0, Set(Learning((2**60,), (-(2**63),))))),
        _thrown_out(),
        _edited("model-norm", "LV-2", "a model in range, beyond B_t",
                (LEARNING, 3, None, Forge("model", Integers((FAR,))))),
        _edited("gradient-norm", "LV-2", "a gradient in range, beyond C_t",
                (LEARNING, 3, None, Forge("scaled_gradient", Integers((FAR,))))),
        _edited("one-unit-to-one", "LV-7 LV-8", "one unit of Gamma to one receiver",
                (LEARNING, 2, 0, Add((1,), "scaled_gradient"))),
        _edited("one-unit-to-all", "LV-8", "one unit of the model to all",
                (LEARNING, 2, None, Add((1,), "model"))),
        _edited("last-model", "LV-7", "another final model for one receiver",
                (LEARNING, 3, 0, Add((1,), "model"))),
        _edited("key-changed", "VB-6", "another key for one receiver",
                (KEYS, 1, 0, Add((1,), "2/key"))),
        _edited("key-malformed", "VB-9 VB-8", "a negative key, always",
                (KEYS, None, None, Forge("2/key", Integer(-1)))),
        _edited("key-withheld", "VB-8", "empty mappings throughout",
                (KEYS, None, None, Set(Entries(())))),
        _edited("key-replayed", "VB-7", "in the compare round what was said in round 1",
                (KEYS, 3, 0, Replay(1))),
        _edited("key-of-another", "VB-6", "a forged key of agent 1",
                (KEYS, 1, 0, Forge("1/key", Integer(7)))),
        _edited("unknown-tag", "VB-9", "a tag that does not exist",
                (KEYS, 1, 0, Forge("99/key", Integer(7)))),
        _edited("report-changed", "VB-6", "another report for one receiver",
                (HASHES, 1, 0, Add((1,), "2/0"))),
        _edited("report-short", "VB-9 LV-6", "a report with too few hashes",
                (HASHES, 1, 0, Forge("2/0", Integers((1, 2, 3))))),
        _edited("report-about-me", "LV-9", "a false report about agent 0 to all",
                (HASHES, None, None, Forge("2/0", Integers(tuple(range(12)))))),
        _edited("hashes-not-a-mapping", "VB-9", "a number in place of a mapping",
                (HASHES, 2, 0, Set(Integer(5)))),
        _edited("estimate-with-length", "VB-9 GV-3 P27", "an estimate with a length, as printed",
                (ESTIMATES, 1, 0, Forge("2/0", Integers((3, 5))))),
        _edited("estimate-malformed", "VB-9 GV-3", "an estimate with too many entries",
                (ESTIMATES, 1, 0, Forge("2/0", Integers((1, 2, 3))))),
        _edited("estimate-compared", "VB-7", "another estimate in the compare round",
                (ESTIMATES, 3, 0, Add((1,), "2/0"))),
        _edited("estimates-swapped", "VB-6",
                "what was meant for agent 1 is what agent 0 gets: nothing changes",
                (ESTIMATES, 1, 0, Swap(1))),
        _edited("agreement-missing", "SA-4 MO-8", "silence in the last round",
                (AGREEMENT, 2, 0, Drop())),
        _edited("agreement-malformed", "SA-4 MO-8", "a number in the last round",
                (AGREEMENT, 2, 0, Set(Integer(0)))),
        _edited("agreement-false-alarm", "SA-3 S4", "an alarm in round 1",
                (AGREEMENT, 1, 0, Set(Flag(value=True)))),
    )  # fmt: skip


def attack_family() -> VectorFamily:
    """All runs with attacks."""
    return run_family(
        "runs-attacks",
        "Whole runs with the named attacks of the catalogue, and with single edited messages.",
        _attacks(),
    )


HONEST = {
    "P13": "adding Gamma where it must be subtracted breaks honest relations",
    "P14": "eta(t) in place of eta(t+1) breaks honest relations",
    "P15": "hashing X^in where Gamma is meant breaks honest relations",
    "P17": "rounding model and gradient apart breaks honest relations",
}
"""Errata that alarm honest runs."""


def _printed(erratum: str, source: str, comment: str, scenario: Scenario) -> VectorCase:
    """The run with one repair turned off."""
    printed = attrs.evolve(scenario, without=(erratum,))
    identifier = f"erratum/run/{erratum.lower()}-printed"
    return run_case(identifier, source, f"as printed: {comment}", printed)


def _pair(
    erratum: str, source: str, comment: str, scenario: Scenario
) -> tuple[VectorCase, VectorCase]:
    """The run as printed and as repaired."""
    identifier = f"erratum/run/{erratum.lower()}-repaired"
    return (
        _printed(erratum, source, comment, scenario),
        run_case(identifier, source, "repaired: the same inputs", scenario),
    )


def _weighted() -> Scenario:
    """Weights whose printed sum multiplies where it must divide."""
    check = parts.Check("gamma", parts.Exponential(0.875, 8), parts.ConfiguredThresholds(2.0, 4.0))
    return attrs.evolve(small("path:4", 1), checks=(check,))


def _noisy(*without: str) -> Prepared:
    """Gradients that swing by 4 around their mean, and a threshold below the square of that."""
    check = parts.Check("t", parts.Polynomial(), parts.ConfiguredThresholds(64.0, 12.0))
    scenario = attrs.evolve(small("path:3", 1), checks=(check,), without=without)

    def swing(t: int, gradient: FloatVector) -> FloatVector:
        return gradient + (4.0 if t % 2 else -4.0)

    prepared = prepare(scenario)
    return changed(prepared, dict.fromkeys(prepared.private, swing))


def errata_family() -> VectorFamily:
    """All runs of errata."""
    hidden = attacked(HiddenTranscripts(), "path:6", (0, 1, 4, 5))
    lone = attacked(LoneVictim(4.0), "path:2", (1,))
    balanced = attrs.evolve(
        attacked(BalancedReport(), "cycle:5", (0,)), keys_checked=CheckedKeys.OWN
    )
    liar = attacked(HashLiar(before_keys=True), byzantine=(2,))
    honest = small("path:3", 1)
    return run_family(
        "runs-errata",
        "Whole runs in which the printed text goes wrong, beside the repaired ones.",
        (
            run_case(
                "erratum/run/p06",
                "P06 AD-6",
                "Assumption 1 holds, Assumption 1+ does not: two honest agents end valid, "
                "apart; no guarantee applies",
                hidden,
            ),
            *_pair("P07", "P07 LV-9 GV-4", "a lone agent is drawn away and ends valid", lone),
            *_pair("P08", "P08 LV-8", "a false report balances a broken relation", balanced),
            _printed("P09", "P09 LV-6", "lies in every commitment, and nobody reads them", liar),
            run_case(
                "erratum/run/p11-printed",
                "P11 LV-1",
                "as printed: keys known too early hide a broken relation; nobody alarms",
                early_keys(),
            ),
            *(_printed(name, f"{name} L1", comment, honest) for name, comment in HONEST.items()),
            run_case(
                "erratum/run/honest-repaired",
                "P13 P14 P15 P17 L1",
                "repaired: the same inputs as in the runs of P13, P14, P15 and P17",
                honest,
            ),
            *_pair("P24", "P24 GV-1", "weights that multiply by their sum", _weighted()),
            run_case(
                "erratum/run/p27-printed",
                "P27 GV-2 GV-6",
                "as printed: averaged lengths count noise that averages out, and everybody alarms",
                _noisy("P27"),
            ),
            run_case(
                "erratum/run/p27-repaired", "P27 GV-2 GV-6", "repaired: the same inputs", _noisy()
            ),
        ),
    )
