"""Whole runs: everything that goes in as integers, everything that must come out.

The scenarios are small and their gradients exact in doubles (dyadic quadratics, few bits, integer
steps), so that the vectors come out alike on every machine. Here are the honest runs.
"""

import contextlib
from collections.abc import Callable, Mapping

import attrs
import numpy as np

from valid_ref.adversary.catalogue import AttackPart
from valid_ref.adversary.early_keys import EarlyKeys
from valid_ref.execution import Execution, execute
from valid_ref.lattice import MERSENNE_61, FloatVector, GradientSource, LatticeError, to_lattice
from valid_ref.protocols.parameters import CheckedKeys
from valid_ref.protocols.valid import Private
from valid_ref.scenario import Scenario, parts, prepare
from valid_ref.scenario.build import Prepared
from valid_ref.schedule import Precision
from valid_ref.vectors.document import Operation, VectorCase, VectorFamily
from valid_ref.vectors.schema import (
    AGENT,
    ALARMS,
    FLAG,
    INTEGER,
    NULL,
    VECTOR,
    Json,
    either,
    fields,
    many,
    ref,
    whole,
    wholes,
)
from valid_ref.vectors.spoken import SAID, WORDS, Scribe
from valid_ref.wire import alarms_as_json, parameters_in_digits

OPERATION = Operation(
    "runs/run",
    "A whole run of Valid: every honest message, and how every honest agent ends.",
    fields(
        parameters=ref("parameters"),
        byzantine=many(AGENT),
        keys=many(either(INTEGER, NULL)),
        gradients=many(many(either(VECTOR, NULL))),
        tables=fields(reports=many(VECTOR), estimates=many(VECTOR)),
        words=WORDS,
    ),
    fields(
        said=SAID,
        ends=many(fields(agent=AGENT, valid=FLAG, model=either(VECTOR, NULL), alarms=ALARMS)),
    ),
)

HARNESS = (
    "Make the public parameters, then start every honest agent v with the key `keys[v]`. In round "
    "t its lattice gradient Ghat is `gradients[t-1][v]`, whatever the point is at which it is "
    "asked; null is a gradient that cannot be used (not finite), or one that is not asked for. No "
    "loss and no floating point is needed; an implementation that takes real gradients takes "
    "Ghat / 2^fraction_bits, which is a double.",
    "In every round deliver on each directed edge what the sender says: for an honest sender what "
    "your implementation sends, for a Byzantine one the message in `words` with this phase, round, "
    "sender and receiver, and silence where there is none.",
    "Compare every honest message with `said`, in the order of rounds, and in the end every "
    "honest agent with `ends`: verdict, model (null if invalid), alarms.",
    "Rows of `reports` and `estimates` in messages are rows of `tables`: each value "
    "stands there once, in no particular order. Do not read anything else off the tables.",
    "Cases whose `without` is not empty show a part of the text as printed (the errata of these "
    "numbers); skip them if you do not have these switches.",
)


def _noting(
    prepared: Prepared, gradients: dict[tuple[int, int], list[int]]
) -> Mapping[int, Private]:
    """The private inputs; every gradient that is asked for is noted in its lattice form."""
    precision = prepared.parameters.lattice.precision

    def noting(agent: int, source: GradientSource) -> GradientSource:
        def gradient(t: int, point: FloatVector) -> FloatVector:
            found = source(t, point)
            with contextlib.suppress(LatticeError):
                gradients[t, agent] = to_lattice(found, precision).tolist()
            return found

        return gradient

    return {
        agent: attrs.evolve(private, gradient=noting(agent, private.gradient))
        for agent, private in prepared.private.items()
    }


def run_case(
    identifier: str, source: str, comment: str, scenario: Scenario | Prepared
) -> VectorCase:
    """A run, written down.

    Implements: VE-7.
    """
    made = prepare(scenario) if isinstance(scenario, Scenario) else scenario
    noted: dict[tuple[int, int], list[int]] = {}
    execution = execute(
        made.parameters, _noting(made, noted), byzantine=made.byzantine, adversary=made.adversary
    )
    agents, rounds = range(made.parameters.graph.agents), made.parameters.lattice.schedule.rounds
    honest = {agent: agent not in made.byzantine for agent in agents}
    scribe = Scribe(made.parameters)
    words = scribe.words(execution.rounds, made.parameters.graph, made.byzantine)
    expected = {
        "said": scribe.said(execution.rounds, execution.honest),
        "ends": [_end(execution, agent) for agent in execution.honest],
    }
    given = {
        "parameters": parameters_in_digits(made.parameters),
        "byzantine": sorted(made.byzantine),
        "keys": [whole(made.private[v].own_key) if honest[v] else None for v in agents],
        "gradients": [
            [wholes(noted[t, v]) if honest[v] and (t, v) in noted else None for v in agents]
            for t in range(1, rounds + 1)
        ],
        "tables": scribe.tables(),
        "words": words,
    }
    return VectorCase(identifier, tuple(source.split()), comment, given, expected)


def _end(execution: Execution, agent: int) -> Json:
    memory, model = execution.states[agent].memory, execution.output(agent)
    return {
        "agent": agent,
        "valid": not memory.invalid,
        "model": None if model is None else wholes(model.tolist()),
        "alarms": alarms_as_json(memory.alarms),
    }


def run_family(name: str, about: str, cases: tuple[VectorCase, ...]) -> VectorFamily:
    """A file of whole runs."""
    return VectorFamily(name, about, HARNESS, (OPERATION,), cases)


Change = Callable[[int, FloatVector], FloatVector]
"""Another gradient in place of this one, by round."""

PRECISION = Precision(10, 6)
KEYS = (1234567890123456789, 987654321, 2**60 + 7, 31415926535897932, 0, MERSENNE_61 - 1)
CENTRES = ((1.0, -0.5), (0.25, 0.75), (-1.0, 0.5), (0.5, 0.5), (-0.75, -1.0), (0.0, 1.0))
CURVATURES = ((1.0, 2.0), (2.0, 1.0), (1.0, 1.0), (1.5, 1.0), (1.0, 1.25), (2.0, 2.0))
SIZES = {
    name: int(name[-1])
    for name in ("path:2", "complete:3", "path:3", "path:4", "star:4", "cycle:5", "path:6")
}
OPEN = parts.Check("t", parts.Polynomial(), parts.ConfiguredThresholds(64.0, 4096.0))
"""Thresholds that a short run passes."""
STEPS = parts.ExplicitSteps((12, 10, 8), (20, 14, 10))


def quadratics(agents: int, dimension: int) -> parts.Quadratics:
    """Losses with diagonal Hessians, everything dyadic."""
    made = []
    for centre, curvature in list(zip(CENTRES, CURVATURES, strict=True))[:agents]:
        hessian = tuple(
            tuple(curvature[i] if i == j else 0.0 for j in range(dimension))
            for i in range(dimension)
        )
        made.append(parts.QuadraticAgent(hessian, centre[:dimension]))
    return parts.Quadratics(tuple(made))


def small(graph: str = "complete:3", dimension: int = 2) -> Scenario:
    """An honest run of three rounds on a small graph."""
    return Scenario(
        graph=parts.Family(graph),
        loss=quadratics(SIZES[graph], dimension),
        rounds=3,
        schedule=STEPS,
        precision=PRECISION,
        keys=KEYS[: SIZES[graph]],
        bounds=parts.ConfiguredBounds(16.0, 64.0),
        checks=(OPEN,),
        delta=2.0,
        eps_success=1.0,
        seed=0,
    )


def attacked(
    attack: AttackPart,
    graph: str = "complete:3",
    byzantine: tuple[int, ...] = (2,),
    dimension: int = 1,
) -> Scenario:
    """The same run, attacked."""
    return attrs.evolve(small(graph, dimension), attack=attack, byzantine=byzantine)


def early_keys() -> Scenario:
    """The attack that knows the keys, in the printed order; only LocalValidate could notice it."""
    thresholds = parts.ConfiguredThresholds(2.0**80, 2.0**160)
    return attrs.evolve(
        attacked(EarlyKeys(), byzantine=(0,), dimension=2),
        checks=(parts.Check("t", parts.Polynomial(), thresholds),),
        bounds=parts.NoBounds(),
        without=("P11",),
    )


def _honest(name: str, source: str, comment: str, setup: Scenario | Prepared) -> VectorCase:
    return run_case(f"honest/run/{name}", source, comment, setup)


def _worked_example() -> Scenario:
    """The network of local-validate.md and global-validate.md."""
    centres = (0.0, 1.0, 2.0)
    return Scenario(
        graph=parts.Family("path:3"),
        loss=parts.Quadratics(tuple(parts.QuadraticAgent(((1.0,),), (c,)) for c in centres)),
        rounds=2,
        schedule=parts.ExplicitSteps((1, 1), (2, 2)),
        precision=Precision(4, 2),
        prime=10007,
        keys=(5, 17, 42),
        bounds=parts.ConfiguredBounds(26 / 16, 52 / 16),
        checks=(
            parts.Check("halves", parts.Exponential(0.5, 1), parts.ConfiguredThresholds(0.75, 1.0)),
        ),
        delta=2 / 3,
        eps_success=1.0,
        seed=0,
    )


def _toy() -> Scenario:
    """The two agents of learn-model.md and hashing.md, modulo 101."""
    return Scenario(
        graph=parts.Family("path:2"),
        loss=parts.Quadratics(tuple(parts.QuadraticAgent(((1.0,),), (c,)) for c in (1.25, -0.5))),
        rounds=3,
        schedule=parts.ExplicitSteps((1, 1, 1), (1, 1, 1)),
        precision=Precision(2, 1),
        prime=101,
        keys=(7, 0),
        bounds=parts.NoBounds(),
        checks=(OPEN,),
        delta=2.0,
        eps_success=1.0,
        seed=0,
    )


def changed(prepared: Prepared, changes: Mapping[int, Change]) -> Prepared:
    """The same run, but these agents have other gradients."""

    def source(usual: GradientSource, change: Change) -> GradientSource:
        return lambda t, point: change(t, usual(t, point))

    private = {
        agent: attrs.evolve(one, gradient=source(one.gradient, changes[agent]))
        if agent in changes
        else one
        for agent, one in prepared.private.items()
    }
    return attrs.evolve(prepared, private=private)


def _failing(scenario: Scenario, agent: int, round_number: int, bad: float) -> Prepared:
    """The same run, but one agent's gradient is this number from one round on."""

    def fail(t: int, gradient: FloatVector) -> FloatVector:
        return gradient if t < round_number else np.full_like(gradient, bad)

    return changed(prepare(scenario), {agent: fail})


def _low(optimality: int, heterogeneity: int) -> Prepared:
    """The worked example with lower thresholds; its statistics are 96^2 and 5664."""
    prepared = prepare(_worked_example())
    [weighting] = prepared.parameters.weightings
    lower = attrs.evolve(weighting, optimality_low=optimality, heterogeneity_low=heterogeneity)
    parameters = attrs.evolve(prepared.parameters, weightings=(lower,))
    return attrs.evolve(prepared, parameters=parameters)


def _strict(scenario: Scenario) -> Scenario:
    thresholds = parts.ConfiguredThresholds(2.0**-6, 2.0**-6)
    return attrs.evolve(scenario, checks=(parts.Check("t", parts.Polynomial(), thresholds),))


def honest_family() -> VectorFamily:
    """All honest runs."""
    wide = attrs.evolve(small("path:2"), precision=Precision(40, 10), start=(3.5, -2.25))
    fine = attrs.evolve(
        small("path:3", 1),
        precision=Precision(28, 20),
        schedule=parts.ExplicitSteps((95325, 90000, 80000), (873813, 748983, 655360)),
    )
    two = parts.Check("gamma = 3/4", parts.Exponential(0.75), parts.ConfiguredThresholds(64.0, 8e3))
    return run_family(
        "runs-honest",
        "Whole runs without Byzantine agents, some of which end with alarms all the same.",
        (
            _honest("toy", "VA-1 LM-2 AR-5", "the worked example of learn-model.md and hashing.md",
                    _toy()),
            _honest("worked-example", "VA-1 LV-8 GV-5",
                    "the worked example of local-validate.md and global-validate.md",
                    _worked_example()),
            _honest("triangle", "VA-1 VA-2", "three agents, d = 2", small()),
            _honest("path", "VA-1 VB-10", "four agents in a row", small("path:4", 1)),
            _honest("star", "VA-1", "degrees differ", small("star:4", 1)),
            _honest("cycle", "VA-1", "five agents, degree 2", small("cycle:5", 1)),
            _honest("default-precision", "AR-1 AR-4", "f = 28, k = 20, p = 2^61 - 1", fine),
            _honest("start-model", "LM-1", "x_0 is not zero, f = 40", wide),
            _honest("small-prime", "HA-1", "p = 1000003",
                    attrs.evolve(small("path:3", 1), prime=1000003, keys=(0, 1, 1000002))),
            _honest("own-keys", "LV-10", "hashes are checked under one's own key only",
                    attrs.evolve(small("path:3", 1), keys_checked=CheckedKeys.OWN)),
            _honest("two-weightings", "GV-12", "exponential and polynomial weights",
                    attrs.evolve(small("path:3", 2), checks=(two, OPEN))),
            _honest("no-checks", "GV-12", "no weighting and no norm bounds",
                    attrs.evolve(small("path:2", 1), checks=(), bounds=parts.NoBounds())),
            _honest("thresholds-too-low", "GV-5 GV-6", "everybody alarms: three rounds are too few",
                    _strict(small("path:3", 1))),
            _honest("on-the-lower-thresholds", "GV-13", "statistics are as small as they may be",
                    _low(96, 5664)),
            _honest("lower-thresholds-too-high", "GV-13", "everybody alarms, by one unit twice",
                    _low(97, 5665)),
            _honest("bounds-too-low", "LV-2", "norm bounds that honest messages break",
                    attrs.evolve(small("path:3", 1),
                                 bounds=parts.ConfiguredBounds(2.0**-3, 2.0**-3))),
            _honest("gradient-not-finite", "AR-14 LM-4",
                    "agent 1 has a NaN in round 2, alarms and falls silent",
                    _failing(small("path:3", 1), 1, 2, float("nan"))),
            _honest("gradient-too-large", "AR-14 LM-4", "agent 0 leaves the range in round 3",
                    _failing(small("path:3", 1), 0, 3, 2.0**50)),
        ),
    )  # fmt: skip
