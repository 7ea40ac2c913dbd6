"""Whole runs with single edited messages: one for every way a message can be wrong."""

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
from valid_ref.adversary.edits import Edit, Edits, without_alarm
from valid_ref.lattice import default_limits
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.valid import ESTIMATES, HASHES, KEYS
from valid_ref.scenario import parts
from valid_ref.schedule import Schedule
from valid_ref.vectors.document import Case
from valid_ref.vectors.runs import run_case
from valid_ref.vectors.scenarios import PRECISION, SIZES, STEPS, attacked

FAR = 2**45
"""In range, and beyond the norm bounds."""


LIMIT = default_limits(
    1, Schedule(PRECISION, STEPS.a, STEPS.A), SIZES["complete:3"] - 1
).model_limit
"""X_max of these runs."""


def _edited(
    name: str, source: str, comment: str, phase: str, number: int | None, action: Action,
    receiver: int | None = 0,
) -> Case:  # fmt: skip
    """Agent 2 changes one message and says "no alarm" in the agreement."""
    edit = Edit(phase, number, 2, receiver, action)
    quiet = () if phase == AGREEMENT else without_alarm(2)
    scenario = attacked(Edits((edit, *quiet)))
    return run_case(f"attack/run/edits-{name}", f"{source} AD-9", comment, scenario)


def _thrown_out() -> Case:
    """With eta = 2 a model in range throws those who mix it in out of range."""
    edit = Edit(LEARNING, 1, 2, None, Forge("model", Integers((2**50,))))
    scenario = attrs.evolve(
        attacked(Edits((edit, *without_alarm(2)))),
        schedule=parts.ExplicitSteps((128, 128, 128), (20, 14, 10)),
    )
    return run_case(
        "attack/run/edits-own-update-out-of-range", "AR-14 LM-4 AD-9",
        "a model in range throws its receivers out of range: they alarm and fall silent", scenario,
    )  # fmt: skip


def edited() -> tuple[Case, ...]:
    """All of them."""
    return (
        _edited("learning-missing", "LM-4 MO-8", "silence in round 2: zeros in its place", LEARNING,
                2, Drop()),
        _edited("learning-malformed", "LM-4 AR-11", "a text in round 1", LEARNING, 1,
                Set(Text("garbage"))),
        _edited("learning-short", "LM-4 AR-11", "a vector of the wrong length", LEARNING, 1,
                Set(Learning((1, 2), (3, 4)))),
        _edited("learning-out-of-range", "LM-4 AR-11", "an entry beyond X_max", LEARNING, 3,
                Add((2**60,), "model")),
        _edited("learning-on-limit", "LM-4 AR-11", "an entry that is X_max", LEARNING, 3,
                Forge("model", Integers((LIMIT,)))),
        _edited("learning-least-word", "LM-4 AR-11", "an entry that is -2^63", LEARNING, 2,
                Forge("scaled_gradient", Integers((-(2**63),)))),
        _edited("learning-range-and-form", "LM-4 AR-11 MO-8", "a model out of range beside a "
                "gradient of the wrong length: malformed, one alarm", LEARNING, 2,
                Set(Learning((2**60,), (3, 4)))),
        _edited("learning-form-and-range", "LM-4 AR-11 MO-8", "a model of the wrong length beside "
                "a gradient out of range: malformed, one alarm", LEARNING, 2,
                Set(Learning((), (-(2**63),)))),
        _edited("learning-both-out-of-range", "LM-4 AR-11", "model and gradient out of range: one "
                "alarm", LEARNING, 1, Set(Learning((2**60,), (-(2**63),)))),
        _thrown_out(),
        _edited("model-norm", "LV-2", "a model in range, beyond B_t", LEARNING, 3,
                Forge("model", Integers((FAR,))), None),
        _edited("gradient-norm", "LV-2", "a gradient in range, beyond C_t", LEARNING, 3,
                Forge("scaled_gradient", Integers((FAR,))), None),
        _edited("one-unit-to-one", "LV-7 LV-8", "one unit of Gamma to one receiver", LEARNING, 2,
                Add((1,), "scaled_gradient")),
        _edited("one-unit-to-all", "LV-8", "one unit of the model to all", LEARNING, 2,
                Add((1,), "model"), None),
        _edited("last-model", "LV-7", "another final model for one receiver", LEARNING, 3,
                Add((1,), "model")),
        _edited("key-changed", "VB-6", "another key for one receiver", KEYS, 1,
                Add((1,), "2/key")),
        _edited("key-malformed", "VB-9 VB-8", "a negative key, always", KEYS, None,
                Forge("2/key", Integer(-1)), None),
        _edited("key-withheld", "VB-8", "empty mappings throughout", KEYS, None,
                Set(Entries(())), None),
        _edited("key-replayed", "VB-7", "in the compare round what was said in round 1", KEYS, 3,
                Replay(1)),
        _edited("key-of-another", "VB-6", "a forged key of agent 1", KEYS, 1,
                Forge("1/key", Integer(7))),
        _edited("unknown-tag", "VB-9", "a tag that does not exist", KEYS, 1,
                Forge("99/key", Integer(7))),
        _edited("report-changed", "VB-6", "another report for one receiver", HASHES, 1,
                Add((1,), "2/0")),
        _edited("report-short", "VB-9 LV-6", "a report with too few hashes", HASHES, 1,
                Forge("2/0", Integers((1, 2, 3)))),
        _edited("report-about-me", "LV-9", "a false report about agent 0 to all", HASHES, None,
                Forge("2/0", Integers(tuple(range(12)))), None),
        _edited("hashes-not-a-mapping", "VB-9", "a number in place of a mapping", HASHES, 2,
                Set(Integer(5))),
        _edited("estimate-malformed", "VB-9 GV-3", "an estimate with too many entries", ESTIMATES,
                1, Forge("2/0", Integers((1, 2, 3)))),
        _edited("estimate-compared", "VB-7", "another estimate in the compare round", ESTIMATES, 3,
                Add((1,), "2/0")),
        _edited("estimates-swapped", "VB-6", "what was meant for agent 1 is what agent 0 gets: "
                "nothing changes", ESTIMATES, 1, Swap(1)),
        _edited("agreement-missing", "SA-4 MO-8", "silence in the last round", AGREEMENT, 2,
                Drop()),
        _edited("agreement-malformed", "SA-4 MO-8", "a number in the last round", AGREEMENT, 2,
                Set(Integer(0))),
        _edited("agreement-false-alarm", "SA-3 S4", "an alarm in round 1", AGREEMENT, 1,
                Set(Flag(value=True))),
    )  # fmt: skip
