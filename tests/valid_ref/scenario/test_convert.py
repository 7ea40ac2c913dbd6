"""What people have becomes a scenario: the same in Python, in documents and on the command line."""

import json

import attrs
import networkx as nx
import numpy as np
import pytest

from valid_ref import AgentGraph, Scenario, run
from valid_ref.adversary.attack import Deviation
from valid_ref.adversary.models import Equivocation, Gaussian
from valid_ref.cli.options import Chosen, chosen_scenario
from valid_ref.document import DocumentError
from valid_ref.errors import ValidRefError
from valid_ref.losses import LogisticRegression, Noise, Quadratic, RidgeLeastSquares
from valid_ref.protocols.parameters import CheckedKeys
from valid_ref.reading import Reading
from valid_ref.scenario import parts, prepare, scenario_as_json, scenario_from_json, scenario_text
from valid_ref.scenario.build import build_losses
from valid_ref.scenario.scenario import run_coins

WORDS = {
    "graph": "complete:5",
    "loss": "random-quadratic:dimension=3,noise=signs,spread=0.5",
    "schedule": "constant:alpha=0.1,eta=0.1",
    "bounds": "configured:model=9,gradient=9",
    "byzantine": "3,4",
    "attack": "gaussian:sigma=0.3",
    "without": "p07,P14",
}
PARTS = Scenario(
    graph=parts.Family("complete:5"),
    loss=parts.RandomQuadratics(3, noise=Noise.SIGNS, spread=0.5),
    schedule=parts.ConstantSteps(0.1, 0.1),
    bounds=parts.ConfiguredBounds(9, 9),
    byzantine=(3, 4),
    attack=Gaussian(0.3),
    without=("P07", "P14"),
    checks=(parts.Check("polynomial:power=2", parts.Polynomial(2)),),
)


@pytest.mark.checks("VA-6")
def test_one_text_names_the_same_in_python_in_a_document_and_on_the_command_line() -> None:
    weights = "polynomial:power=2"
    assert Scenario(**WORDS, checks=weights) == PARTS
    assert chosen_scenario(None, Chosen(**WORDS, weights=weights)) == PARTS
    named = {key: WORDS[key] for key in ("graph", "loss", "attack")}
    assert scenario_from_json(json.dumps(scenario_as_json(PARTS) | named)) == PARTS
    documents = {k: v for k, v in scenario_as_json(PARTS).items() if k != "format"}
    assert Scenario(**documents) == PARTS


@pytest.mark.checks("VA-6", "VA-7")
def test_lists_arrays_and_single_values_are_taken() -> None:
    found = Scenario(
        graph=nx.cycle_graph(4),
        byzantine=np.int64(3),
        attack=Equivocation(),
        start=np.zeros(10),
        rounds=np.int32(7),
        delta=1,
        without="as-printed",
        keys_checked="own",
        checks=["certificate:theta=0.1", "polynomial:power=3"],
        precision={"fraction_bits": 20},
    )
    assert found.graph == parts.Edges(4, ((0, 1), (0, 3), (1, 2), (2, 3)))
    assert found.graph == Scenario(graph=AgentGraph(4, nx.cycle_graph(4).edges())).graph
    assert (found.byzantine, found.start, found.without) == ((3,), (0.0,) * 10, Reading.switches())
    assert (type(found.rounds), type(found.delta)) == (int, float)
    assert found.keys_checked is CheckedKeys.OWN
    assert found.checks[0].thresholds == parts.CertifiedThresholds(0.1)
    assert found.checks[1].weights == parts.Polynomial(3)
    assert Scenario(byzantine=range(3)).byzantine == (0, 1, 2)


@pytest.mark.checks("VA-6")
@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("graph", 3, "graph: expected a name like"),
        ("graph", "complte:5", "graph: no graph is called 'complte:5'; write complete:N"),
        ("graph", nx.DiGraph([(0, 1)]), "is refused"),
        ("graph", parts.Family, "graph: Family is a class: write Family(...)"),
        ("loss", 3, "loss: expected a name like"),
        ("loss", "randm-ridge", "did you mean 'random-ridge'?"),
        ("loss", "random-ridge:sampls=3", "loss.sampls: unknown field; did you mean 'samples'?"),
        ("loss", Quadratic(np.eye(1), np.zeros(1)), "loss: a Quadratic is the loss of one agent"),
        ("loss", [1, 2], "loss: a list has a loss for every agent"),
        ("attack", 3, "attack: expected a name like"),
        ("attack", "equivocaton", "did you mean 'equivocation'?"),
        ("attack", Equivocation, "attack: Equivocation is a class: write Equivocation(...)"),
        ("schedule", 3, "schedule: expected a text like name:option=value (names: constant"),
        ("schedule", "constnt", "did you mean 'constant'?"),
        ("bounds", parts.NoBounds, "bounds: NoBounds is a class"),
        ("checks", 3, "checks: expected a list"),
        ("checks", [3], "checks[0]: expected a Check, or a text"),
        ("rounds", 2.5, "rounds = 2.5 is not an integer from 1 to"),
        ("rounds", "7", 'rounds = "7" is not an integer from 1'),
        ("batch", True, "batch = true is not an integer from 1 on"),
        ("prime", 7.0, "prime = 7.0 is not an integer"),
        ("delta", "x", "delta: expected a number"),
        ("eps_success", 10**400, "eps_success: expected a finite number"),
        ("start", "x", "start: expected a list"),
        ("start", [0, "x"], "start[1]: expected a number"),
        ("byzantine", "a", "byzantine[0]: expected an integer"),
        ("byzantine", 1.5, "byzantine[0]: expected an integer"),
        ("keys", 3.5, "keys[0]: expected an integer"),
        ("without", 3, "without: expected a list"),
        ("without", "P99", "no switch P99"),
        ("precision", 3, "precision: expected an object"),
        ("keys_checked", "al", "keys_checked: expected one of 'all', 'own'"),
    ],
)
def test_a_wrong_type_is_refused_by_the_name_of_its_field(field, value, words) -> None:
    with pytest.raises(ValidRefError) as caught:
        Scenario(**{field: value})
    assert words in str(caught.value)


@pytest.mark.checks("VA-10")
@pytest.mark.parametrize(
    "losses",
    [
        [Quadratic(np.eye(2) * h, [h, 1.0], Noise.SIGNS, 0.5) for h in (1.0, 2.0)],
        [RidgeLeastSquares([[h, 1.0]], [h], 0.5) for h in (1.0, 2.0, 3.0)],
        [LogisticRegression([[h, 1.0]], [1.0], 0.5) for h in (1.0, 2.0)],
    ],
    ids=lambda losses: type(losses[0]).__name__,
)
def test_a_list_of_losses_is_a_document_and_gives_their_gradients(losses) -> None:
    scenario = Scenario(graph=f"path:{len(losses)}", loss=losses, seed=0)
    again = scenario_from_json(scenario_text(scenario))
    assert again == scenario
    point = np.array([0.3, -2.0])
    for given, built in zip(losses, build_losses(again, len(losses)).losses, strict=True):
        assert given.gradient(point).tobytes() == built.gradient(point).tobytes()


@attrs.frozen
class Silent:
    """An attack of nobody's package: Byzantine agents are honest."""

    strength: float = 1.0

    def build(self, setting: object) -> Deviation:
        return Deviation()


@attrs.frozen
class Pair:
    """A graph of somebody's."""

    def build(self) -> AgentGraph:
        return AgentGraph(2, [(0, 1)])


@attrs.frozen
class NoGraph:
    def build(self) -> str:
        return "complete:5"


@pytest.mark.checks("VA-10", "VA-6")
def test_a_class_of_a_module_is_a_part_and_survives_its_document() -> None:
    name = f"{__name__}:Silent:strength=3"
    scenario = Scenario(graph=Pair(), byzantine=1, attack=name, seed=0)
    assert scenario.attack == Silent(3)
    assert scenario == chosen_scenario(
        None, Chosen(graph=f"{__name__}:Pair", byzantine="1", attack=name, seed=0)
    )
    again = scenario_from_json(scenario_text(scenario))
    assert again == scenario
    assert scenario_as_json(scenario)["attack"] == {"kind": f"{__name__}:Silent", "strength": 3}
    assert prepare(attrs.evolve(again, rounds=2)).parameters.graph.agents == 2


@pytest.mark.checks("VA-10")
def test_a_part_that_builds_something_else_is_refused() -> None:
    with pytest.raises(ValidRefError, match="NoGraph gives a str, not an AgentGraph"):
        prepare(Scenario(graph=NoGraph()))
    with pytest.raises(ValidRefError, match="PairAttack gives a AgentGraph, not a Deviation"):
        prepare(Scenario(graph="path:3", rounds=2, byzantine=1, attack=PairAttack()))


class PairAttack:
    """An attack that a document cannot hold: no attrs class."""

    def __init__(self, table: object = None) -> None:
        self.table = table

    def build(self, setting: object) -> object:
        return Pair().build()


@pytest.mark.checks("VA-10")
def test_an_object_that_no_document_holds_is_refused_where_it_is_written_down_only() -> None:
    @attrs.frozen
    class Local(Silent):
        """Of a function, so that nobody finds it again."""

    @attrs.frozen
    class Named(Silent):
        """Of a kind that nobody registered."""

        kind = "loud"

    for attack, words in (
        (Local(), "could not be found again"),
        (PairAttack(), "is not a frozen attrs class"),
        (Named(), "by which it cannot be found again"),
        (Silent(np.zeros(2)), "not JSON serializable"),
    ):
        scenario = Scenario(graph="path:3", rounds=1, byzantine=2, attack=attack, seed=0)
        with pytest.raises(DocumentError, match=r"is no document: attack[:.]") as caught:
            scenario_as_json(scenario)
        assert words in str(caught.value)
        assert 'attack="module:Name:option=value"' in str(caught.value)
    assert run(Scenario(graph="path:3", rounds=1, byzantine=2, attack=Local(), seed=0)).outcome


@pytest.mark.checks("VA-10", "LV-3")
def test_keys_depend_on_what_an_object_of_somebodys_holds() -> None:
    """By class and content, and not by where it lies in memory."""

    def coins(attack: object) -> bytes:
        return run_coins(Scenario(byzantine=2, attack=attack, seed=0)).secret

    different = [Silent(1.0), Silent(2.0), Silent(np.zeros(2)), Silent(np.ones(2)), PairAttack()]
    assert len({coins(attack) for attack in different}) == len(different)
    assert coins(Silent(np.zeros(2))) == coins(Silent(np.zeros(2)))
    assert coins(PairAttack(object())) == coins(PairAttack(object()))
