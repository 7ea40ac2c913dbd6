"""Coins: what is made of them differs by its use, and a run can be repeated."""

import itertools
import json
import os
import subprocess
import sys
import zipfile
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from valid_ref.adversary.early_keys import EarlyKeys
from valid_ref.adversary.models import Equivocation, Gaussian
from valid_ref.coins import Coins, CoinsError, fresh
from valid_ref.document import DocumentError
from valid_ref.guarantees.local import broken_relations
from valid_ref.losses import LossError, Noise, Problem, Quadratic
from valid_ref.oracle import check, open_recording, record_run, recording_digest
from valid_ref.protocols.lean import Opening
from valid_ref.protocols.learn import PHASE as LEARN
from valid_ref.protocols.parameters import CheckedKeys, LeanParameters
from valid_ref.runs import run
from valid_ref.scenario import (
    Scenario,
    parts,
    prepare,
    scenario_as_json,
    scenario_text,
    settled,
)
from valid_ref.scenario.scenario import run_coins, sample_coins
from valid_ref.schedule import Precision

numbers = st.lists(st.integers(0, 2**70), max_size=4).map(tuple)
uses = st.tuples(st.text(max_size=4), numbers)

SCENARIO = Scenario(
    graph=parts.Family("complete:4"),
    loss=parts.RandomQuadratics(2, noise=Noise.SIGNS, spread=0.5),
    rounds=3,
    checks=(parts.Check("t", parts.Polynomial(), parts.ConfiguredThresholds(1e6, 1e9)),),
    delta=1.0,
    eps_success=1.0,
)
SEEDED = attrs.evolve(SCENARIO, seed=5)


def keys(scenario: Scenario) -> list[int]:
    private = prepare(scenario).private
    return [private[agent].key for agent in sorted(private)]


def learned(scenario: Scenario) -> list[Any]:
    """Everything said in the learning phase of an honest run."""
    rounds = run(scenario).execution.rounds
    said: list[Any] = [spoken.said for spoken in rounds if spoken.phase == LEARN]
    return [[words[v].model.tolist() for v in sorted(words)] for words in said]


# What is made of coins.


@pytest.mark.checks("LV-3")
@given(st.binary(min_size=32, max_size=32), uses, uses)
def test_every_use_has_coins_of_its_own(secret: bytes, one: Any, other: Any) -> None:
    coins = Coins(secret)
    children = [coins.child(domain, *given) for domain, given in (one, other)]
    assert (children[0] == children[1]) == (one == other)
    assert coins not in children
    again = Coins(secret).child(one[0], *one[1])
    assert children[0] == again
    streams = [coins.generator(domain, *given) for domain, given in (one, other)]
    drawn = [stream.integers(0, 2**63, 4).tolist() for stream in streams]
    assert (drawn[0] == drawn[1]) == (one == other)


@pytest.mark.checks("LV-3")
def test_no_list_of_parts_is_another_one() -> None:
    coins = Coins.of_seed(0)
    lists = [*itertools.product(("", "a", "ab"), itertools.product((0, 1, 256, 257), repeat=2))]
    flat = [(domain, given[:count]) for domain, given in lists for count in range(3)]
    found = {(domain, given): coins.child(domain, *given).secret for domain, given in flat}
    assert len({*found.values()}) == len(found)


@pytest.mark.checks("LV-3")
@given(st.integers(1, 2**128), uses)
def test_integers_are_below_their_limit(limit: int, use: Any) -> None:
    domain, given = use
    assert 0 <= Coins.of_seed(1).integer_below(limit, domain, *given) < limit


@pytest.mark.checks("LV-3")
def test_integers_are_spread_evenly() -> None:
    """20000 draws below 10: each count is within six deviations of 2000, or P < 2e-8."""
    coins = Coins.of_seed(2)
    counts = np.bincount([coins.integer_below(10, "x", i) for i in range(20000)], minlength=10)
    assert np.abs(counts - 2000).max() < 6 * np.sqrt(20000 * 0.09)
    high = [coins.integer_below(2**61 - 1, "x", i) >> 51 for i in range(5000)]
    assert len({*high}) > 1000  # of 1024: the high bits are used too (P < 1e-9)


@pytest.mark.checks("LV-3")
def test_known_values() -> None:
    """SHA-256 of the parts, each after its length in eight bytes; the same in every language."""
    coins = Coins(bytes(range(32)))
    assert coins.child("key", 3).secret.hex() == (
        "096017f137792d4df0b463353726738b625c2db3976d14dd8834cd594987e9a3"
    )
    assert coins.integer_below(2**61 - 1, "key", 3) == 603177453575737311
    assert coins.generator("round", 1).integers(0, 1000, 3).tolist() == [577, 101, 57]


@pytest.mark.checks("LV-3", "VA-6")
@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Coins(b"short"),
        lambda: Coins("0" * 32),
        lambda: Coins.of_seed(-1),
        lambda: Coins.of_seed(0).child("x", -1),
        lambda: Coins.of_seed(0).integer_below(0, "x"),
        lambda: Coins.of_seed(0).integer_below(2**128 + 1, "x"),
    ],
)
def test_wrong_coins_are_refused(wrong: Any) -> None:
    with pytest.raises(CoinsError):
        wrong()


@pytest.mark.checks("LV-3")
def test_coins_are_not_printed() -> None:
    coins = Coins.of_seed(3)
    assert coins.secret.hex() not in repr(coins) + str(coins)
    assert repr(coins.secret) not in repr(coins)


@pytest.mark.checks("LV-3")
def test_coins_are_drawn_anew() -> None:
    assert len({fresh() for _draw in range(20)}) == 20
    assert all(len(bytes.fromhex(fresh())) == 32 for _draw in range(5))


# Mini-batches.


@pytest.mark.checks("AD-3", "MO-9")
def test_a_problem_without_coins_has_no_mini_batches() -> None:
    loss = Quadratic(np.eye(2), np.zeros(2), Noise.SIGNS, 1.0)
    problem = Problem([loss, loss], 1, Coins.of_seed(1))
    for known in (Problem([loss, loss]), problem.public()):
        with pytest.raises(LossError, match="no mini-batches"):
            known.gradient_source(0)
        with pytest.raises(LossError, match="no mini-batches"):
            known.rehearsal(0)
    point = np.zeros(2)
    drawn = [
        [made.gradient_source(v)(t, point).tobytes() for v in range(2) for t in range(40)]
        for made in (problem, problem.rehearsal(0), problem.rehearsal(1))
    ]
    assert len({tuple(row) for row in drawn}) == 3
    assert problem.gradient_source(1)(7, point).tobytes() == drawn[0][47]


# Scenarios.

CHANGES: dict[str, Any] = {
    "graph": parts.Family("cycle:4"),
    "loss": parts.RandomQuadratics(2, noise=Noise.SIGNS, spread=0.25),
    "rounds": 4,
    "schedule": parts.ConstantSteps(0.01, 0.1),
    "precision": Precision(20, 12),
    "prime": 2**31 - 1,
    "start": (0.5, 0.25),
    "batch": 2,
    "seed": 6,
    "bounds": parts.NoBounds(),
    "checks": (parts.Check("u", parts.Polynomial(), parts.ConfiguredThresholds(1e6, 1e9)),),
    "delta": 2.0,
    "eps_success": 2.0,
    "keys_checked": CheckedKeys.OWN,
    "without": ("P07",),
    "byzantine": (3,),
    "validation": parts.Lean(),
}


@pytest.mark.checks("LV-3")
def test_scenarios_that_differ_anywhere_share_no_key() -> None:
    changed = [attrs.evolve(SEEDED, **{name: value}) for name, value in CHANGES.items()]
    attacked = attrs.evolve(SEEDED, byzantine=(3,))
    changed += [attrs.evolve(attacked, attack=attack) for attack in (Gaussian(), Gaussian(0.5))]
    changed += [attrs.evolve(SEEDED, seed=None, coins=digit * 64) for digit in "01"]
    found = [keys(scenario) for scenario in (SEEDED, *changed)]
    everything = [key for one in found for key in one]
    assert len({*everything}) == len(everything)
    untouched = {field.name for field in attrs.fields(Scenario)} - {*CHANGES}
    assert untouched == {"format", "coins", "keys", "attack"}  # the first has one value only


@pytest.mark.checks("LV-3", "VA-8")
def test_the_same_scenario_has_the_same_keys_and_bytes() -> None:
    assert keys(SEEDED) == keys(attrs.evolve(SEEDED))
    assert recording_digest(run(SEEDED)) == recording_digest(run(SEEDED))


@pytest.mark.checks("LV-3")
def test_honest_and_attacked_runs_see_the_same_data() -> None:
    """Mini-batches depend on what is learned, not on attack, checks or repairs."""
    plain = sample_coins(SEEDED)
    for name in ("bounds", "checks", "delta", "eps_success", "keys_checked", "without"):
        assert sample_coins(attrs.evolve(SEEDED, **{name: CHANGES[name]})) == plain
    attacked = attrs.evolve(SEEDED, byzantine=(3,), attack=Equivocation(), keys=(1, 2, 3, 4))
    assert sample_coins(attacked) == plain
    assert learned(SEEDED) == learned(attrs.evolve(SEEDED, byzantine=(3,)))
    for name in ("graph", "loss", "rounds", "schedule", "start", "batch", "seed"):
        assert sample_coins(attrs.evolve(SEEDED, **{name: CHANGES[name]})) != plain
    assert plain != run_coins(SEEDED)


@pytest.mark.checks("LV-3", "VA-8")
def test_coins_are_drawn_where_no_seed_is_given_and_repeat_the_run() -> None:
    one, other = run(SCENARIO), run(SCENARIO)
    assert SCENARIO.coins is None
    assert one.scenario.coins != other.scenario.coins
    assert not {*keys(one.scenario)} & {*keys(other.scenario)}
    assert recording_digest(one) != recording_digest(other)
    again = run(one.scenario)
    assert again.scenario == one.scenario
    assert recording_digest(again) == recording_digest(one)
    assert learned(one.scenario) != learned(other.scenario)
    assert settled(one.scenario) == one.scenario
    assert settled(SEEDED) == SEEDED


@pytest.mark.checks("VA-6")
@pytest.mark.parametrize("coins", ["", "0" * 63, "0" * 65, "g" * 64, "A" * 64, "0" * 64 + "\n"])
def test_other_digits_are_refused(coins: str) -> None:
    with pytest.raises(CoinsError, match="64"):
        Scenario(coins=coins)


@pytest.mark.checks("VA-6")
def test_seed_and_coins_together_are_refused() -> None:
    with pytest.raises(DocumentError, match="give one of the two"):
        Scenario(seed=0, coins="0" * 64)
    for make in (run_coins, sample_coins):
        with pytest.raises(DocumentError, match="not settled"):
            make(SCENARIO)


@pytest.mark.checks("LV-3", "AD-3", "L2")
@pytest.mark.parametrize("base", [SEEDED, SCENARIO, attrs.evolve(SCENARIO, coins="7" * 64)])
def test_keys_of_an_earlier_run_do_not_help(base: Scenario) -> None:
    """The attack that knows the keys of a recorded run is seen; with the true keys it is not."""
    base = attrs.evolve(base, rounds=12, bounds=parts.NoBounds(), byzantine=(3,))
    first = run(base).execution.states[0].memory.keys
    attack = EarlyKeys(known=first)
    later = run(attrs.evolve(base, attack=attack)).execution
    assert broken_relations(later) == (3,)
    assert later.honest_valid == ()
    assert run(attrs.evolve(base, attack=attack, keys=first)).execution.honest_valid == (0, 1, 2)
    assert not {*first} & {*later.states[0].memory.keys}


PROGRAM = """
import numpy as np
import sys
import zipfile
from valid_ref.scenario import prepare, scenario_from_json
prepared = prepare(scenario_from_json(sys.argv[1]))
for private in prepared.private.values():
    print(private.key, private.gradient(2, np.array([0.5, 0.5])).tolist())
"""


@pytest.mark.checks("VA-8", "LV-3")
def test_another_process_draws_the_same() -> None:
    scenario = attrs.evolve(SCENARIO, coins="1f" * 32)
    private = prepare(scenario).private.values()
    here = [f"{own.key} {own.gradient(2, np.array([0.5, 0.5])).tolist()}" for own in private]
    there = subprocess.run(
        [sys.executable, "-c", PROGRAM, scenario_text(scenario)],
        env=os.environ | {"PYTHONHASHSEED": "12345"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert there.stdout.splitlines() == here


@pytest.mark.checks("RE-2", "LV-3")
def test_a_recording_has_the_coins_that_were_drawn(tmp_path) -> None:
    for scenario in (SEEDED, SCENARIO):
        finished = run(scenario)
        path = tmp_path / f"{scenario.seed}.zip"
        record_run(finished, path)
        losses = open_recording(path).header.losses
        assert losses is not None
        assert losses.coins == finished.scenario.coins
        assert losses.seed == (0 if scenario.seed is None else scenario.seed)
        assert check(open_recording(path)).conforms
        with zipfile.ZipFile(path) as archive:
            header = json.loads(archive.read("header.json"))
        assert ("coins" in header["losses"]) == (scenario.seed is None)


@pytest.mark.checks("VA-6", "LE-4")
def test_a_scenario_with_the_papers_validation_has_the_coins_that_it_had_before() -> None:
    """Its coins are those of a document that does not know of another validation."""
    document = scenario_as_json(SEEDED)
    assert document.pop("validation") == {"kind": "paper"}
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    assert run_coins(SEEDED) == Coins.of_text("scenario", text)
    lean = attrs.evolve(SEEDED, validation=parts.Lean())
    assert run_coins(lean) not in {run_coins(SEEDED), run_coins(attrs.evolve(lean, seed=6))}
    assert sample_coins(lean) == sample_coins(SEEDED)
    prepared = prepare(lean)
    assert prepared.parameters.lean == LeanParameters(2, run_coins(lean).child("run").secret.hex())
    for agent, private in prepared.private.items():
        coins = run_coins(lean).child("opening", agent)
        assert private.key == Opening.of_coins(coins, prepared.parameters)
    with pytest.raises(DocumentError, match="no keys of single agents"):
        attrs.evolve(lean, keys=(1, 2, 3, 4))
