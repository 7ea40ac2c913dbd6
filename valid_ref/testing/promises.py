"""The main claim, as a predicate over a finished run: an admissible model or an alarm.

What is promised is the corrected, relaxed form: everybody valid if nobody is Byzantine; else all
honest agents alarmed, or their models near a point of the relaxed set that the checks certify.
"""

import math

import numpy as np

from valid_ref.execution import Execution
from valid_ref.front import Run
from valid_ref.graph import assumption_1_plus
from valid_ref.guarantees.local import undetected
from valid_ref.guarantees.outcome import Truth
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.scenario.parts import DerivedBounds


def broken_promises(finished: Run) -> tuple[str, ...]:
    """What a run of the repaired reading promised and did not keep; nothing, if all is well.

    With thresholds that honest runs pass, nothing here is a matter of luck but the hash: a lie
    goes undetected with probability at most ((dT-1)/p)^|H| < 10^-17 for p = 2^61 - 1 and dT <= 8.
    """
    execution = finished.execution
    if not execution.byzantine:
        return _broken_without_adversary(execution)
    if not assumption_1_plus(execution.parameters.graph, execution.byzantine):
        return ()
    found = [f"agents {list(agents)} lied and nobody alarmed" for agents in [undetected(execution)]
             if agents]  # fmt: skip
    if execution.honest_valid:
        found += _broken_by_valid_agents(finished)
    return tuple(found)


def _broken_without_adversary(execution: Execution) -> tuple[str, ...]:
    return tuple(
        f"agent {agent} is honest among honest agents and has {raised}"
        for agent, state in execution.states.items()
        for raised in state.memory.alarms
    )


def _broken_by_valid_agents(finished: Run) -> list[str]:
    """What must hold as soon as one honest agent ends valid."""
    execution, judgement = finished.execution, finished.judgement
    found = [
        f"agent {agent} alarmed before the agreement and {list(execution.honest_valid)} are valid"
        for agent in early_alarms(execution)
    ]
    if judgement.relaxed is not Truth.YES:
        found.append(f"valid, but not in the relaxed set: {judgement}")
    spread = judgement.consensus_error
    if spread is not None and isinstance(finished.scenario.bounds, DerivedBounds):
        total, limit = spread * len(execution.honest_valid), largest_spread(execution)
        if total > limit * (1 + 1e-9):
            found.append(f"the valid models are {total:g} apart, and {limit:g} is certified")
    return found


def early_alarms(execution: Execution) -> tuple[int, ...]:
    """The honest agents that alarmed before the agreement."""
    return tuple(
        agent
        for agent in execution.honest
        if any(raised.phase != AGREEMENT for raised in execution.states[agent].memory.alarms)
    )


def largest_spread(execution: Execution) -> float:
    """D_T^2: how far the models of agents that all keep the relation and the bounds can be apart.

    D_t = max(|1 - eta_t l_2|, |1 - eta_t l_M|) D_(t-1) + alpha_t sqrt(n) C; infinite without
    norm bounds.
    """
    parameters = execution.parameters
    if parameters.bounds is None:
        return math.inf
    schedule, n = parameters.lattice.schedule, parameters.graph.agents
    longest = math.sqrt(max(parameters.bounds.gradient_squared))
    C = (longest + math.sqrt(parameters.lattice.dimension)) / 2**schedule.precision.fraction_bits
    eigenvalues = parameters.graph.laplacian_eigenvalues()[[1, -1]]
    D = 0.0
    for t in range(1, schedule.rounds + 1):
        factor = float(np.abs(1 - float(schedule.eta(t)) * eigenvalues).max())
        D = factor * D + float(schedule.alpha(t)) * math.sqrt(n) * C
    return D * D
