"""From a scenario to what a run needs: parameters, losses, private inputs, the adversary."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs
import numpy as np

from valid_ref._version import __version__
from valid_ref.adversary.attack import Deviation, Setting, deviation_of
from valid_ref.adversary.own_words import in_own_words
from valid_ref.arguments import require_function, require_type
from valid_ref.coins import Coins
from valid_ref.document import read_json, structure
from valid_ref.graph import AgentGraph, GraphError, assumption_1, assumption_1_plus
from valid_ref.graph_families import parse_family
from valid_ref.guarantees.admissible import heterogeneity
from valid_ref.guarantees.bounds import (
    GivenConstants,
    configured_bounds,
    derive_bounds,
    range_conflicts,
)
from valid_ref.guarantees.calibration import Statistics
from valid_ref.hashing import PrimeField
from valid_ref.lattice import (
    IntVector,
    LatticeParameters,
    default_limits,
    from_lattice,
    squared_norm,
    to_lattice,
)
from valid_ref.losses import (
    LogisticRegression,
    Loss,
    LossError,
    Problem,
    Quadratic,
    RidgeLeastSquares,
    UnknownError,
    random_quadratics,
)
from valid_ref.losses.own import AgentLoss, check_own_loss, if_known
from valid_ref.machine import Adversary
from valid_ref.named_parts import asking, name_of
from valid_ref.protocols.lean import Opening
from valid_ref.protocols.parameters import (
    Bounds,
    CheckedKeys,
    LeanParameters,
    ParameterError,
    ValidParameters,
)
from valid_ref.protocols.valid import Private
from valid_ref.scenario.parts import (
    CalibratedThresholds,
    ConfiguredBounds,
    DataAgent,
    DerivedBounds,
    Edges,
    Family,
    GraphPart,
    Lean,
    Logistic,
    LossPart,
    NoBounds,
    OwnGraph,
    Quadratics,
    RandomLogistic,
    RandomQuadratics,
    RandomRidge,
    Ridge,
)
from valid_ref.scenario.rehearse import Rehearsals, Rehearse, Watch, rehearse
from valid_ref.scenario.scenario import (
    Scenario,
    opening_coins,
    run_coins,
    sample_coins,
    scenario_as_json,
    settled,
)
from valid_ref.scenario.schedules import build_schedule
from valid_ref.scenario.success import default_success, early_admissible, success_notes
from valid_ref.scenario.weightings import build_weightings, require_no_wrap, with_weights
from valid_ref.schedule import Schedule


@attrs.frozen
class Prepared:
    """A scenario made ready: everything that `execute` and the oracle of outcomes take.

    `scenario` is the one that was asked for, with the coins that were drawn for it, if any were.
    `notes` are what there is to say before the run starts (GV-7, AD-6, VA-5). `delta` and
    `eps_success` are None where they are not given and do not follow from the losses (MO-14).
    """

    scenario: Scenario
    parameters: ValidParameters
    problem: Problem
    private: Mapping[int, Private]
    byzantine: frozenset[int]
    adversary: Adversary
    delta: float | None
    eps_success: float | None
    notes: tuple[str, ...]


def prepare(scenario: Scenario, rehearsals: Rehearse = rehearse) -> Prepared:
    """Build all that a scenario describes; refuse what does not fit together.

    `rehearsals` runs the honest rehearsals that thresholds are calibrated by. Where the scenario
    has neither seed nor coins, coins are drawn; `scenario` of the result has them, and prepares
    the same again.

    Implements: VA-6, LV-3.
    """
    require_type(scenario, Scenario, "scenario", "a Scenario")
    require_function(rehearsals, "rehearsals")
    scenario = settled(scenario)
    parameters, problem, notes = without_checks(scenario)
    graph = parameters.graph
    require_no_wrap(scenario, parameters)
    _require_constants(parameters, problem)
    delta = scenario.delta
    if delta is None:
        delta, _unknown = if_known(lambda: heterogeneity(problem))
    weightings, said = build_weightings(scenario, parameters, problem, delta, rehearsals)
    parameters = attrs.evolve(parameters, weightings=weightings, lean=_lean(scenario))
    notes += said
    byzantine, said = _byzantine(scenario, graph)
    eps_success = scenario.eps_success
    if eps_success is None:
        eps_success, _unknown = if_known(lambda: default_success(parameters, problem))
    if eps_success is not None:
        notes += success_notes(parameters, problem, eps_success)
        notes += early_admissible(parameters, problem, byzantine, delta, eps_success)
    notes += _open_questions(problem, byzantine, delta, eps_success)
    coins = run_coins(scenario)
    setting = Setting.of(parameters, problem, byzantine, delta, coins.child("attack"))
    deviation = Deviation() if scenario.attack is None else deviation_of(scenario.attack, setting)
    return Prepared(
        scenario=scenario,
        parameters=parameters,
        problem=problem,
        private=_private(scenario, parameters, deviation, problem, coins),
        byzantine=byzantine,
        adversary=in_own_words(setting, deviation),
        delta=delta,
        eps_success=eps_success,
        notes=notes + said,
    )


def _require_constants(parameters: ValidParameters, problem: Problem) -> None:
    """Refuse constants of a loss that are refuted already where a run begins and should end.

    Implements: MO-10, MO-14.
    """
    start = from_lattice(parameters.start_model, parameters.lattice.precision)
    points = [start, np.zeros_like(start)]
    problem.require_constants(dict.fromkeys(range(len(problem.losses)), points), "start")
    optimum, _unknown = if_known(problem.minimiser)
    if optimum is not None:
        points = [optimum, *points]
        problem.require_constants(dict.fromkeys(range(len(problem.losses)), points), "optimum")


def _open_questions(
    problem: Problem, byzantine: frozenset[int], delta: float | None, eps_success: float | None
) -> tuple[str, ...]:
    """What cannot be decided about this run, whatever happens in it.

    Implements: VA-11.
    """
    tolerances = {"delta": delta, "eps_success": eps_success}
    missing = [name for name, value in tolerances.items() if value is None]
    _optimum, unknown = if_known(problem.minimiser)
    if not unknown or (byzantine and not missing):
        return ()
    given = f", and {' and '.join(missing)} not given" if byzantine else ""
    return (f"{unknown}{given}: whether models are near one that is right cannot be decided",)


def without_checks(scenario: Scenario) -> tuple[ValidParameters, Problem, tuple[str, ...]]:
    """The parameters but for the weightings, the losses, and what is to be said about them."""
    field, graph = PrimeField(scenario.prime), build_graph(scenario)
    problem = build_problem(scenario, graph.agents)
    schedule = build_schedule(scenario, graph, problem)
    lattice = default_limits(
        problem.dimension,
        schedule,
        graph.max_degree,
        scenario.prime,
        enforce_field_range=scenario.reading.P20,
    )
    start = _start_model(scenario, problem, lattice)
    problem.require_repeatable(from_lattice(start, lattice.precision))
    bounds, notes = _bounds(scenario, problem, schedule, lattice, start)
    parameters = ValidParameters(
        graph=graph,
        lattice=lattice,
        start_model=start,
        field=field,
        bounds=bounds,
        weightings=(),
        checked_keys=scenario.keys_checked,
        reading=scenario.reading,
    )
    return parameters, problem, notes


def kept_rehearsals(
    scenario: Scenario, directory: Path | None, *, jobs: int = 1, watch: Watch | None = None
) -> Rehearsals:
    """Rehearsals of a scenario that are kept in a directory and found again by their content.

    Those with a graph or a loss of somebody's are not kept: the same name may mean something else
    tomorrow.

    Implements: GU-12, VA-10.
    """
    if not isinstance(scenario.graph, GraphPart) or not isinstance(scenario.loss, LossPart):
        directory = None
    document = {"version": __version__, "scenario": scenario_as_json(_rehearsed(scenario))}
    text = json.dumps(document, sort_keys=True)
    return Rehearsals(directory, text, rehearse_document, jobs=jobs, watch=watch)


def _rehearsed(scenario: Scenario) -> Scenario:
    """What rehearsals depend on: neither attacks nor keys nor thresholds."""
    checks = tuple(
        attrs.evolve(check, thresholds=CalibratedThresholds())
        for check in scenario.checks
        if isinstance(check.thresholds, CalibratedThresholds)
    )
    return attrs.evolve(
        scenario,
        attack=None,
        byzantine=(),
        keys=None,
        bounds=NoBounds(),
        checks=checks,
        delta=None,
        eps_success=None,
        keys_checked=CheckedKeys.ALL,
    )


def rehearse_document(text: str, indices: Sequence[int]) -> list[Statistics]:
    """The rehearsals of a document of `kept_rehearsals`, in whatever process this is called."""
    scenario: Scenario = structure(Scenario, read_json(text)["scenario"])
    parameters, problem, _notes = without_checks(scenario)
    return rehearse(with_weights(scenario, parameters), problem, indices)


def build_graph(scenario: Scenario) -> AgentGraph:
    """The graph of a scenario."""
    return graph_of(scenario.graph)


def graph_of(part: GraphPart | OwnGraph) -> AgentGraph:
    """The graph that a part of a document stands for; that of somebody's own class is built.

    Implements: VA-10.
    """
    if isinstance(part, Edges):
        return AgentGraph.from_edges(part.agents, part.edges)
    if isinstance(part, Family):
        return parse_family(part.name)
    with asking(part, "build()", GraphError):
        found: object = part.build()
    if not isinstance(found, AgentGraph):
        raise GraphError(
            f"build of {name_of(part)} gives a {type(found).__name__}, not an AgentGraph",
            clause="VA-10",
        )
    return found


def _start_model(scenario: Scenario, problem: Problem, lattice: LatticeParameters) -> IntVector:
    """x_0 on the lattice.

    Implements: LM-1.
    """
    if scenario.start is None:
        return np.zeros(problem.dimension, dtype=np.int64)
    if len(scenario.start) != problem.dimension:
        raise ParameterError(
            f"start has {len(scenario.start)} entries, the losses have dimension "
            f"{problem.dimension}",
            clause="LM-1",
        )
    return to_lattice(scenario.start, lattice.precision, lattice.model_limit)


def _bounds(
    scenario: Scenario,
    problem: Problem,
    schedule: Schedule,
    lattice: LatticeParameters,
    start: IntVector,
) -> tuple[Bounds | None, tuple[str, ...]]:
    """B_t and C_t, and where they conflict with the range rule.

    Implements: LV-2, GU-8.
    """
    part = scenario.bounds
    if isinstance(part, NoBounds):
        return None, ("no norm checks: LV-2 is turned off by the scenario",)
    squared = squared_norm(start)
    if isinstance(part, ConfiguredBounds):
        found = configured_bounds(part.model, part.gradient, scenario.rounds, lattice.precision)
    else:
        constants, unknown = if_known(lambda: _constants(problem, part))
        if constants is None:
            return None, (f"no norm checks: {unknown}; bounds would have to be configured",)
        found = derive_bounds(constants, schedule, lattice.max_degree, start_squared=squared)
    conflicts = range_conflicts(found, lattice, squared)
    return found, tuple(f"norm bounds beyond the range rule: {c}" for c in conflicts[:1])


def _constants(problem: Problem, part: DerivedBounds) -> GivenConstants:
    """The constants from which norm bounds follow."""
    known, unknown = if_known(lambda: problem.loss_at_zero)
    F0 = known if part.loss_at_zero is None else part.loss_at_zero
    if F0 is None:
        raise UnknownError(unknown, clause="MO-14")
    if known is not None and known > F0:
        raise ParameterError(
            f"bounds.loss_at_zero = {F0} is below the losses' F0 = {known}", clause="MO-10"
        )
    return GivenConstants(problem.dimension, problem.strong_convexity, problem.smoothness, F0)


def _byzantine(scenario: Scenario, graph: AgentGraph) -> tuple[frozenset[int], tuple[str, ...]]:
    """B; where Assumption 1+ fails the run goes on, but nothing is promised.

    Implements: AD-5, AD-6.
    """
    scenario.require_agents(graph.agents)
    byzantine = frozenset(scenario.byzantine)
    demanded = assumption_1_plus if scenario.reading.P06 else assumption_1
    report = demanded(graph, byzantine)
    return byzantine, () if report.holds else (f"no guarantee applies: {report.reason}",)


def _lean(scenario: Scenario) -> LeanParameters | None:
    """The parameters of lean validation; the name of the run is one of its coins that is public.

    Implements: LE-1.
    """
    part = scenario.validation
    if not isinstance(part, Lean):
        return None
    run = opening_coins(scenario).child("run").secret.hex()
    return LeanParameters(part.kappa, run, part.without)


def _private(
    scenario: Scenario,
    parameters: ValidParameters,
    deviation: Deviation,
    problem: Problem,
    coins: Coins,
) -> Mapping[int, Private]:
    """Gradients, and keys or openings, made of the coins unless the scenario names the keys.

    Implements: LV-3, LE-4.
    """
    agents = range(len(problem.losses))
    private = {}
    for agent in agents:
        source = deviation.gradient_sources.get(agent, problem.gradient_source(agent))
        private[agent] = Private(source, _key(scenario, parameters, agent, coins))
    return private


def _key(
    scenario: Scenario, parameters: ValidParameters, agent: int, coins: Coins
) -> int | Opening:
    if parameters.lean is not None:
        return Opening.of_coins(opening_coins(scenario).child("opening", agent), parameters)
    if scenario.keys is None:
        return coins.integer_below(scenario.prime, "key", agent)
    PrimeField(scenario.prime).check_key(scenario.keys[agent])
    return scenario.keys[agent]


def build_problem(scenario: Scenario, agents: int) -> Problem:
    """One loss per agent, with the scenario's batch size and the coins of its mini-batches."""
    return attrs.evolve(build_losses(scenario, agents), coins=sample_coins(scenario))


def build_losses(scenario: Scenario, agents: int) -> Problem:
    """The losses alone, which everybody may know: no coins, hence no mini-batches."""
    part = scenario.loss
    if isinstance(part, RandomQuadratics):
        _check_size(part.dimension, 1)
        return random_quadratics(
            agents,
            part.dimension,
            scenario.data_seed,
            condition=part.condition,
            scale=part.scale,
            offset=part.offset,
            noise=part.noise,
            spread=part.spread,
            batch=scenario.batch,
        ).public()
    losses = tuple(_losses(scenario, agents))
    if len(losses) != agents:
        raise LossError(f"{len(losses)} losses for {agents} agents", clause="MO-9")
    return Problem(losses, scenario.batch)


def _losses(scenario: Scenario, agents: int) -> list[Loss]:
    part = scenario.loss
    if isinstance(part, Quadratics):
        return [
            Quadratic(_matrix(one.hessian), np.array(one.centre), part.noise, part.spread)
            for one in part.agents
        ]
    if isinstance(part, Ridge | Logistic):
        make = RidgeLeastSquares if isinstance(part, Ridge) else LogisticRegression
        return [
            make(_matrix(one.features), np.array(one.targets), part.ridge) for one in part.agents
        ]
    if isinstance(part, RandomRidge | RandomLogistic):
        _check_size(part.dimension, part.samples)
        kind = RidgeLeastSquares if isinstance(part, RandomRidge) else LogisticRegression
        signs = isinstance(part, RandomLogistic)
        data = [
            _random_data(scenario.data_seed, agent, part.dimension, part.samples, signs=signs)
            for agent in range(agents)
        ]
        return [kind(_matrix(one.features), np.array(one.targets), part.ridge) for one in data]
    if isinstance(part, RandomQuadratics):
        raise LossError(f"{type(part).__name__} has no losses of its own", clause="MO-9")
    check_own_loss(part, "loss")
    return [AgentLoss(part, agent) for agent in range(agents)]


def _random_data(seed: int, agent: int, dimension: int, samples: int, *, signs: bool) -> DataAgent:
    """Features in the unit ball; targets from a model that differs a little by agent."""
    generator = np.random.default_rng([seed, agent])
    features = generator.standard_normal((samples, dimension))
    features /= np.maximum(1.0, np.sqrt((features**2).sum(axis=1, keepdims=True)))
    model = np.ones(dimension) + 0.3 * generator.standard_normal(dimension)
    targets = (features * model).sum(axis=1) + 0.1 * generator.standard_normal(samples)
    targets = np.where(targets >= 0, 1.0, -1.0) if signs else targets
    return DataAgent(tuple(map(tuple, features.tolist())), tuple(targets.tolist()))


def _matrix(rows: tuple[tuple[float, ...], ...]) -> np.ndarray:
    if len({len(row) for row in rows}) != 1:
        raise LossError("the rows of a matrix have different lengths", clause="MO-9")
    return np.array(rows, dtype=np.float64)


def _check_size(dimension: int, samples: int) -> None:
    if dimension < 1 or samples < 1:
        raise LossError(f"dimension {dimension}, samples {samples}: below 1", clause="MO-9")
