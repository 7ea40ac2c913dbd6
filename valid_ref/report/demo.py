"""The demo: one network, honest and attacked; what the attack does without validation; a tour."""

from collections.abc import Sequence

import attrs
import numpy as np

from valid_ref.adversary.models import Equivocation
from valid_ref.grammar import agents_named
from valid_ref.protocols.agreement import PHASE as AGREEMENT
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.valid import ESTIMATES, HASHES, KEYS
from valid_ref.report.build import MOST_POINTS, view_of
from valid_ref.report.curves import number, series_of
from valid_ref.report.view import EndPoint, HarmSide, HarmView, PageView, RunView, TourStep
from valid_ref.report.watched import watch_run
from valid_ref.report.words import OUTCOMES
from valid_ref.runs import Run
from valid_ref.scenario import Scenario, parts
from valid_ref.trace import Specification

CHEAT = 2
"""The agent that cheats in the demo."""
SEEN_ROUND = 3
"""The learning round in which the tour looks at the lie."""


def demo_scenarios(rounds: int) -> tuple[Scenario, Scenario]:
    """The attacked and the honest scenario: eight agents that look for one number.

    The criterion of success is a five-hundredth of the squared distance at the start.
    """
    honest = Scenario(
        graph=parts.Family("two-cliques:4"),
        loss=parts.RandomQuadratics(dimension=1, scale=0.3, offset=5.0),
        rounds=rounds,
        eps_success=0.05,
        seed=0,
    )
    return attrs.evolve(honest, byzantine=(CHEAT,), attack=Equivocation(size=2.0)), honest


def demo_view(attacked: Run, honest: Run, specification: Specification) -> PageView:
    """The page of the demo: both runs, the harm, and the tour through them."""
    watched = (watch_run(attacked, "One agent cheats"), watch_run(honest, "Everybody honest"))
    rounds = len(attacked.execution.rounds)
    agents = attacked.execution.parameters.graph.agents
    view = view_of(
        "VALID: learning together when somebody may lie",
        f"{agents} agents, {rounds} rounds, the same run with a cheater and without",
        watched,
        specification,
    )
    harm = harm_view(attacked, honest)
    return attrs.evolve(view, harm=harm, tour=tour_of(view.runs[0], harm, attacked))


def harm_view(attacked: Run, honest: Run) -> HarmView:
    """The end of learning in both runs: what becomes of it without validation, and with it.

    Learning is the same with and without validation, whose checks come after its last round.
    """
    series = [series_of(watch_run(one, ""), MOST_POINTS) for one in (attacked, honest)]
    curves = [() if one is None or one.distance is None else one.distance for one in series]
    ends = _ends(attacked)
    criterion = honest.prepared.eps_success or 0.0
    optimum = attacked.history.optimum
    last, before = (curve[-1] or 0.0 for curve in curves)
    missed = last >= criterion
    valid = attacked.execution.honest_valid
    off = (
        f"Learning ends, and all {len(ends)} honest agents use the model they have. Its mean "
        f"squared distance to the best is {last:.2g}; without the cheater it is {before:.2g}. "
        + f"Less than {criterion:g} is success. "
        + ("It is missed, and nobody knows." if missed else "It is worse, and nobody knows.")
    )
    on = (
        f"{len(ends) - len(valid)} of {len(ends)} honest agents have an alarm and do not use the "
        "model. They lose the run, but nobody is deceived."
        if not valid
        else f"{len(valid)} of {len(ends)} honest agents end valid."
    )
    return HarmView(
        rounds=() if series[0] is None else series[0].rounds,
        honest=curves[1],
        attacked=curves[0],
        criterion=criterion,
        optimum=0.0 if optimum is None else float(optimum[0]),
        text="Both columns show the same learning rounds with the same lies. The checks come after "
        "the last of them; on the left there are none.",
        sides=(
            HarmSide("Validation off", "bad", off, ends),
            HarmSide("VALID", "good" if attacked.outcome in {"b", "c"} else "bad", on, ends),
        ),
    )


def _ends(finished: Run) -> tuple[EndPoint, ...]:
    models = finished.history.models[-1, :, 0]
    known = [v for v in finished.execution.honest if np.isfinite(models[v])]
    return tuple(EndPoint(v, number(float(models[v])) or 0.0) for v in known)


def tour_of(run: RunView, harm: HarmView, attacked: Run) -> tuple[TourStep, ...]:
    """What a person who has not read the paper should see, in order."""
    graph = attacked.execution.parameters.graph
    agents, T = graph.agents, attacked.execution.parameters.lattice.schedule.rounds
    phases = {phase.name: phase for phase in run.phases}
    lie = min(SEEN_ROUND, T) - 1
    last = {name: phase.first + phase.rounds - 1 for name, phase in phases.items()}
    near = graph.neighbours(CHEAT)
    far = max(attacked.execution.honest, key=lambda agent: (graph.distance(CHEAT, agent), agent))
    outcomes = [f"Outcome {name}: {OUTCOMES[name]}" for name in "abc"]
    before, after = (harm.honest[place] or 0.0 for place in (0, -1))
    return (
        TourStep(
            "What VALID is",
            (
                f"{agents} agents look for one number that suits the data of all of them; the "
                f"best is {harm.optimum:.3g}. There is no server: an agent talks only to the "
                "agents that a line joins it to.",
                "Any of them may lie. VALID is learning followed by checks, so that a lie that "
                "matters is noticed.",
            ),
            0,
            0,
            CHEAT,
            "",
        ),
        TourStep(
            "Three ways it may end", (*outcomes, "It promises one of these."), 0, 0, CHEAT, ""
        ),
        TourStep(
            "Phase 1: learning",
            (
                f"In each of {T} rounds every agent mixes its number with those of its neighbours, "
                "takes a step on its own data and tells them the result and the step.",
                "When everybody is honest, the mean squared distance to the best falls from "
                f"{before:.2g} after the first round to {after:.2g}.",
            ),
            1,
            last[LEARNING],
            0,
            "learning",
        ),
        TourStep("The lie", _lie_text(run, lie, near), 0, lie, CHEAT, "network"),
        TourStep("What the lie does", (harm.sides[0].text,), 0, last[LEARNING], CHEAT, "harm"),
        TourStep(
            "Phase 2: keys",
            (
                "Only after the last learning message does every agent reveal a random key. A "
                "hash under a key is a short summary: different messages have different ones, "
                "but for very bad luck.",
                "Nobody could fit a lie to keys that did not exist yet.",
            ),
            0,
            last[KEYS],
            CHEAT,
            "rounds",
        ),
        TourStep("Phase 3: hashes. Who notices?", _who(run, far), 0, last[HASHES], far, "checks"),
        TourStep("Why nobody honest is to blame", _blame(run), 0, last[HASHES], CHEAT, "checks"),
        TourStep(
            "Phase 4: estimates",
            (
                "Every agent reports the mean gradient of each neighbour. At the best model the "
                "gradients of all agents cancel out; a lie that passes every other check must "
                "not be larger than honest data allow.",
            ),
            0,
            last[ESTIMATES],
            CHEAT,
            "alarms",
        ),
        TourStep(
            "Phase 5: agreement",
            (
                "Whoever has an alarm says so, and whoever hears it has one too. So no honest "
                "agent is left believing that all is well.",
            ),
            0,
            last[AGREEMENT],
            far,
            "network",
        ),
        TourStep(
            "How it ends",
            (
                f"Outcome {run.outcome.outcome}: {run.outcome.meaning}",
                "Now look yourself: step through the rounds, choose agents, and follow the link "
                "of any alarm to the message that caused it.",
            ),
            0,
            last[AGREEMENT],
            CHEAT,
            "outcome",
        ),
    )


def _lie_text(run: RunView, index: int, near: Sequence[int]) -> tuple[str, ...]:
    """What the cheater tells whom in one round."""
    place = next(place for place, shown in enumerate(run.rounds) if shown.index >= index)
    shown = run.rounds[place]
    told: dict[int, list[int]] = {}
    for edge in shown.edges:
        if edge.sender == CHEAT and edge.receiver in near:
            told.setdefault(edge.message, []).append(edge.receiver)
    if not told:
        return (f"Agent {CHEAT} says what honest code would say.",)
    honest = run.messages[shown.said[CHEAT]].word
    words = "; ".join(
        f"{run.messages[message].word} to {agents_named(receivers)}"
        for message, receivers in told.items()
    )
    return (
        f"Agent {CHEAT} is Byzantine: it may say anything. Honest code would tell all its "
        f"neighbours {honest}. It says {words}.",
        "To each it reports a step that fits what it said. So no neighbour sees anything wrong "
        "from where it stands.",
    )


def _who(run: RunView, far: int) -> tuple[str, ...]:
    """Who notices the lie, and by which check."""
    reported: dict[str, list[int]] = {}
    for cell in run.checks.reports if run.checks else ():
        if cell.agent == CHEAT:
            reported.setdefault(cell.letters, []).append(cell.reporter)
    reports = " and ".join(
        f"{agents_named(who)} {'reports' if len(who) == 1 else 'report'} {letter}"
        for letter, who in reported.items()
    )
    noticed = [
        alarm
        for alarm in run.alarms
        if alarm.agent == far and alarm.reason == "INCONSISTENT_HASHES"
    ]
    if not noticed:
        return (f"Every neighbour of agent {CHEAT} reports hashes of what it was told.",)
    return (
        f"The neighbours of agent {CHEAT} report hashes of what it told them: {reports}. It owes "
        "the same to all, so reports that differ show a lie.",
        f"Reports are passed on to everybody. Even agent {far}, far from agent {CHEAT}, sees that "
        f"they differ and has an alarm (clause {noticed[0].clause}).",
    )


def _blame(run: RunView) -> tuple[str, ...]:
    """Why the failed checks are nobody else's."""
    others = sorted({cell.agent for cell in (run.checks.failures if run.checks else ())} - {CHEAT})
    more = (
        (
            f"The {'check' if len(others) == 1 else 'checks'} of {agents_named(others)} "
            f"{'fails too: it is' if len(others) == 1 else 'fail too: they are'} computed from "
            f"what was reported about agent {CHEAT}. The table says whose lie it is.",
        )
        if others
        else ()
    )
    return (
        "An honest agent says the same to all its neighbours, and honest neighbours report what "
        "they heard. So these checks never fail on honest messages alone.",
        *more,
    )
