"""What a scenario can see to be wrong is refused when it is made, by its name."""

import math

import numpy as np
import pytest

from valid_ref import AgentGraph, Scenario, prepare
from valid_ref.adversary.models import Equivocation, Gaussian
from valid_ref.cli.options import Chosen, chosen_scenario
from valid_ref.document import DocumentError
from valid_ref.errors import ValidRefError
from valid_ref.graph_families import FAMILY_FORMS, family_size, parse_family
from valid_ref.scenario import parts, scenario_from_json, scenario_text
from valid_ref.scenario.parts import FIELDS

WRONG = [
    ({"rounds": 0}, "rounds = 0 is not an integer from 1 to 1000000 [LM-1]"),
    ({"rounds": None}, "rounds = null is not an integer"),
    ({"batch": 0}, "batch = 0 is not an integer from 1 on [MO-9]"),
    ({"seed": True}, "seed = true is not an integer from 0 on"),
    ({"seed": np.bool_(1)}, "seed = true is not an integer from 0 on"),
    ({"prime": 4}, "prime: 4 = 2^2"),
    ({"prime": 15}, "prime: p = 15 is not a prime number [HA-1]"),
    ({"byzantine": -1}, "byzantine[0] = -1 is not an agent [AD-1]"),
    ({"byzantine": (1, 1)}, "byzantine: 1 stands twice"),
    ({"byzantine": ","}, "byzantine: expected agents such as 3,4"),
    ({"byzantine": ""}, "byzantine: expected agents such as 3,4"),
    ({"byzantine": "3,,4"}, "byzantine: expected agents such as 3,4"),
    ({"byzantine": range(20)}, "byzantine: all 20 agents; at least one must be honest [AD-1]"),
    ({"graph": "star:3", "byzantine": 3}, "unknown agent 3 of the Byzantine set, not in 0..2"),
    ({"keys": ""}, "keys: expected a key for every agent"),
    ({"keys": []}, "keys: expected a key for every agent"),
    ({"keys": {1, 2}}, "keys: expected a list, since a set has no order"),
    ({"keys": [1, -1]}, "keys: key -1 is not in 0.."),
    ({"keys": [1, 2]}, "2 keys for 20 agents [LV-3]"),
    ({"start": {1.0, 2.0}}, "start: expected a list, since a set has no order"),
    ({"checks": {"polynomial"}}, "checks: expected a list, since a set has no order"),
    ({"checks": ["polynomial"] * 2}, "two checks have the same name [GV-12]"),
    ({"checks": {"name": ""}}, "checks[0]: a check has a name"),
    ({"eps_success": 1j}, "eps_success: expected a number"),
    ({"delta": np.complex64(1)}, "delta: expected a number"),
    ({"without": "all"}, "without: no switch ALL; there are P01"),
    ({"without": "P07,P07"}, "without: P07 stands twice"),
    ({"bounds": "configured:model=-1,gradient=1"}, "bounds: model = -1.0 is not a finite number"),
    ({"bounds": "derived:loss_at_zero=-1"}, "bounds: loss_at_zero = -1.0"),
    ({"checks": "certificate:theta=2"}, "checks[0]: theta = 2.0 is not a finite number between 0"),
    ({"checks": "certificate:kurtosis=0"}, "checks[0]: kurtosis = 0.0"),
    ({"checks": "configured:optimality=0,heterogeneity=1"}, "checks[0]: optimality = 0.0"),
    ({"checks": "polynomial:power=65"}, "power = 65 is not an integer from 0 to 64 [GV-1]"),
    ({"schedule": "constant:alpha=0,eta=1"}, "schedule: alpha = 0.0 is not a finite number above"),
    ({"schedule": "diminishing:t0=-1"}, "schedule: t0 = -1.0"),
    ({"schedule": "experiment:initial=0"}, "schedule: initial = 0"),
    ({"schedule": "explicit:a=[1],A=[1]"}, "1 steps for 200 rounds"),
    ({"loss": "random-ridge:ridge=0"}, "loss: ridge = 0.0 is not a finite number above 0"),
    ({"loss": "random-quadratic:condition=.5"}, "loss: condition = 0.5"),
    ({"loss": "random-quadratic:spread=1"}, "loss: noise none does not go with spread 1.0"),
    ({"graph": "cycle:2"}, "graph: the number of agents must be at least 3, not 2 [MO-2]"),
    ({"graph": "torus:2x9"}, "graph: the rows of a torus must be at least 3"),
    ({"graph": "regular:5,3,seed=1"}, "graph: no graph of 5 agents has degree 3"),
    ({"graph": {"kind": "edges", "agents": 3, "edges": [[0, 1]]}}, "graph: disconnected"),
    ({"graph": "equivocation"}, "'equivocation' is an attack, not a graph: give it as attack"),
    ({"graph": Equivocation()}, "'equivocation' is an attack, not a graph: give it as attack"),
    ({"graph": {"kind": "gaussian"}}, "'gaussian' is an attack, not a graph: give it as attack"),
    ({"attack": "cycle:5", "byzantine": 1}, "'cycle' is a graph, not an attack: give it as graph"),
    ({"bounds": {"kind": []}}, "bounds.kind: [] is not one of"),
    ({"schedule": "calibrated"}, "'calibrated' is thresholds, not a schedule: give it as checks"),
    ({"attack": "gaussian:sigma=1,sigma=2", "byzantine": 1}, "attack.sigma: stands twice"),
    ({"validation": "lean", "without": "P07"}, "lean validation has no reading without P07"),
]


@pytest.mark.checks("VA-6", "AD-1", "LV-3", "MO-2")
@pytest.mark.parametrize(("given", "words"), WRONG, ids=[str(given) for given, _words in WRONG])
def test_it_is_refused_when_the_scenario_is_made(given: dict, words: str) -> None:
    with pytest.raises(ValidRefError) as caught:
        Scenario(**given)
    assert words in str(caught.value)


@pytest.mark.checks("VA-6")
@pytest.mark.parametrize(
    "field", [name for name in FIELDS if name not in {"weights", "thresholds"}]
)
def test_an_empty_text_is_answered_with_an_example_that_is_taken(field: str) -> None:
    with pytest.raises(DocumentError, match=f"{field}: expected .* such as") as caught:
        Scenario(**{field: " "})
    example = str(caught.value).split('such as "')[1].partition('"')[0]
    assert Scenario(**{field: example}, **({"byzantine": 1} if field == "attack" else {}))


class Own:
    """A graph of somebody's own, of which nobody knows the size."""

    def build(self) -> AgentGraph:
        return parse_family("path:3")


@pytest.mark.checks("AD-1", "LV-3")
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"byzantine": (0, 1, 2)}, "all 3 agents"),
        ({"byzantine": 3}, "agent 3"),
        ({"keys": (1,)}, "1 keys"),
    ],
)
def test_what_needs_the_built_graph_is_refused_when_it_is_prepared(given: dict, words: str) -> None:
    scenario = Scenario(graph=Own(), rounds=3, seed=0, **given)
    with pytest.raises(ValidRefError, match=words):
        prepare(scenario)


@pytest.mark.checks("MO-2")
def test_the_size_of_a_family_is_that_of_its_graph() -> None:
    texts = [
        "paper",
        "complete:4",
        "path:2",
        "cycle:3",
        "star:5",
        "torus:3x4",
        "regular:6,3,seed=1",
        "erdos-renyi:5,.9,seed=1",
        "two-cliques:3",
        "two-cliques:3,2,seed=1",
    ]
    assert len(texts) == len(FAMILY_FORMS)
    assert [family_size(text) for text in texts] == [parse_family(text).agents for text in texts]


NUMPY = {
    "rounds": np.array(4),
    "seed": np.int64(3),
    "batch": np.int16(1),
    "prime": np.int64(2**61 - 1),
    "byzantine": np.uint8(3),
    "keys": np.arange(20),
    "start": np.arange(3),
    "eps_success": np.float64(0.5),
    "delta": np.longdouble(0.5),
    "loss": parts.RandomRidge(dimension=np.int64(3), ridge=np.float32(0.5)),
    "attack": Gaussian(np.float64(0.25)),
    "schedule": parts.ConstantSteps(np.float64(0.25), np.array(0.125)),
    "checks": parts.Check(
        "c", parts.Polynomial(np.int8(2)), parts.CertifiedThresholds(np.half(0.5))
    ),
    "precision": {"fraction_bits": np.int64(20)},
}


@pytest.mark.checks("VA-6")
def test_numbers_of_numpy_are_as_good_as_those_of_python() -> None:
    found = Scenario(**NUMPY)
    assert scenario_from_json(scenario_text(found)) == found
    assert found.attack == Gaussian(0.25)
    assert type(found.attack.sigma) is float
    assert (found.rounds, found.seed, found.byzantine, found.delta) == (4, 3, (3,), 0.5)
    assert Scenario(validation=parts.Lean(np.int64(3))).validation == parts.Lean(3)


@pytest.mark.checks("VA-6")
@pytest.mark.parametrize("text", [".1", "0.1", "1e-1", "+.1", "0_0.1", " .1 ", "1E-01"])
def test_every_spelling_of_python_is_a_number(text: str) -> None:
    assert Scenario(loss=f"random-ridge:ridge={text}").loss == parts.RandomRidge(ridge=0.1)


@pytest.mark.checks("VA-6")
@pytest.mark.parametrize("text", ["nan", "inf", "-Infinity", "NaN", "1e999", "0x1", "", "1,5"])
def test_what_is_no_finite_number_is_refused(text: str) -> None:
    with pytest.raises(DocumentError, match=r"loss\."):
        Scenario(loss=f"random-ridge:ridge={text}")


def test_sets_whose_order_does_not_count_are_sorted() -> None:
    assert Scenario(byzantine={5, 11, 4}, without={"P14", "P07"}) == Scenario(
        byzantine=(4, 5, 11), without=("P07", "P14")
    )


@pytest.mark.checks("GU-12")
@pytest.mark.parametrize("level", [0.2, 0.05, 0.03, 0.01, 0.001])
def test_a_level_means_the_same_wherever_it_is_named(level: float) -> None:
    """As an option, in the text of thresholds, in a document and in Python."""
    by_option = chosen_scenario(None, Chosen(level=level))
    text = f"calibrated:level={level!r}"
    assert chosen_scenario(None, Chosen(thresholds=text)).checks == by_option.checks
    assert Scenario(checks=text).checks == by_option.checks
    document = {"kind": "calibrated", "level": level}
    assert Scenario(checks={"thresholds": document}).checks == by_option.checks
    assert Scenario(checks=parts.Check(thresholds=parts.CalibratedThresholds(level))) == by_option
    assert by_option.checks[0].thresholds.runs == max(29, math.ceil(1 / level - 1))


@pytest.mark.checks("GU-12")
@pytest.mark.parametrize("level", [1e-9, 9e-7, 1e-320])
def test_a_level_that_nobody_reaches_is_refused_with_the_least(level: float) -> None:
    words = r"level = \S+ needs more than 1000000 rehearsals.* the least level is 1e-06"
    with pytest.raises(ValidRefError, match=f"^--level: {words}"):
        chosen_scenario(None, Chosen(level=level))
    with pytest.raises(ValidRefError, match=f"^--thresholds: {words}"):
        chosen_scenario(None, Chosen(thresholds=f"calibrated:level={level!r}"))
    assert Scenario(checks="calibrated:level=1e-6").checks[0].thresholds.runs == 999_999
