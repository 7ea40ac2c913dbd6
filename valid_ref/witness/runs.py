"""Errata shown by whole runs: hidden and lone agents, false reports, early keys, honest alarms."""

import attrs
import numpy as np

from valid_ref.adversary.attack import AttackError
from valid_ref.adversary.data import Benign
from valid_ref.adversary.early_keys import EarlyKeys
from valid_ref.adversary.hidden import HiddenTranscripts
from valid_ref.adversary.reports import BalancedReport, HashLiar, LoneVictim
from valid_ref.guarantees.outcome import final_models
from valid_ref.protocols.parameters import CheckedKeys
from valid_ref.runs import Run, run
from valid_ref.scenario import parts
from valid_ref.scenario.scenario import Scenario
from valid_ref.witness.story import Story, Witness, tell_run

OPEN = (parts.Check("t", parts.Polynomial(), parts.ConfiguredThresholds(1e6, 1e12)),)
"""Thresholds out of the way: the erratum is about LocalValidate."""


def _centres(*centres: float) -> parts.Quadratics:
    return parts.Quadratics(tuple(parts.QuadraticAgent(((1.0,),), (c,)) for c in centres))


HIDDEN = Scenario(
    graph=parts.Family("path:6"),
    loss=_centres(0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    schedule=parts.Diminishing(a=1.0, t0=2.0, e0=0.5),
    bounds=parts.NoBounds(),
    checks=OPEN,
    delta=1.0,
    byzantine=(0, 1, 4, 5),
    attack=HiddenTranscripts(3.0),
    seed=0,
)
"""The path w1-v1-h1-h2-v2-w2: nobody honest hears agents 0 and 5."""


SEEN = parts.Edges(6, ((0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5)))
"""The same path, with an honest neighbour for agents 0 and 5 too."""


def _p06(printed: bool) -> Story:
    return _p06_printed() if printed else _p06_repaired()


def _p06_printed() -> Story:
    lines: list[str] = []
    scaled: list[float] = []
    promised = all_valid = True
    shown: Run | None = None
    for T in (50, 200, 800):
        finished = run(attrs.evolve(HIDDEN, rounds=T, without=("P06",)))
        models = final_models(finished.execution, finished.execution.honest_valid)
        all_valid = all_valid and len(models) == 2
        promised = promised and not _unguarded(finished)
        spread = float(sum(np.sum((m - np.mean(models, axis=0)) ** 2) for m in models))
        scaled.append(T * spread)
        shown = shown or finished
        valid = list(finished.execution.honest_valid)
        lines.append(f"T = {T}: valid {valid}, T sum |x_v - mean|^2 = {T * spread:.1f}")
    lines.append("Assumption 1 holds, so O(1/T) consensus is promised; it does not happen")
    return Story(tuple(lines), promised and all_valid and scaled[-1] > 4 * scaled[0], shown)


def _p06_repaired() -> Story:
    """Nothing is promised about that network; in one that Assumption 1+ admits, lies are seen."""
    notes = _unguarded(run(attrs.evolve(HIDDEN, rounds=50)))
    lines = [f"the same network, {note}" for note in notes]
    refusals = [f"in the printed network {note}" for note in notes]
    seen = attrs.evolve(HIDDEN, graph=SEEN, rounds=50)
    lines.append("with edges 0-2 and 3-5 Assumption 1+ holds:")
    hides = True
    try:
        run(seen)
    except AttackError as error:
        hides = False
        lines.append(f"  the attack cannot be built: {error.message}")
        refusals.append(f"with edges 0-2 and 3-5 the attack cannot be built: {error.message}")
    finished = run(attrs.evolve(seen, attack=LoneVictim(3.0)))
    lines.append("  agents 0, 1, 4, 5 stay at 3 and lie about agents 2 and 3 to explain it:")
    wrong = not notes or hides or bool(finished.execution.honest_valid)
    return tell_run(finished, wrong=wrong, before=tuple(lines), refusals=tuple(refusals))


def _unguarded(finished: Run) -> tuple[str, ...]:
    """The notes that no guarantee applies."""
    return tuple(note for note in finished.prepared.notes if "no guarantee applies" in note)


def _p07(printed: bool) -> Story:
    thresholds = parts.ConfiguredThresholds(0.05, 0.05)
    scenario = Scenario(
        graph=parts.Family("path:2"),
        loss=_centres(0.0, 0.0),
        rounds=200,
        schedule=parts.ConstantSteps(0.009, 0.5),
        bounds=parts.NoBounds(),
        checks=(parts.Check("gamma = .9", parts.Exponential(0.9), thresholds),),
        byzantine=(1,),
        attack=LoneVictim(50.0),
        delta=0.05,
        without=("P07",) if printed else (),
        seed=0,
    )
    finished = run(scenario)
    models = final_models(finished.execution, (0,))
    ends = f"  agent 0 ends at {models[0][0]:.1f}; its own minimiser is 0" if models else ""
    return tell_run(finished, wrong=bool(models), extra=(ends,) if ends else ())


SMALL = Scenario(
    graph=parts.Family("cycle:5"),
    loss=parts.RandomQuadratics(1),
    rounds=3,
    bounds=parts.NoBounds(),
    checks=OPEN,
    byzantine=(0,),
    seed=0,
)


def _p08(printed: bool) -> Story:
    scenario = attrs.evolve(
        SMALL,
        attack=BalancedReport(),
        keys_checked=CheckedKeys.OWN,
        without=("P08",) if printed else (),
    )
    finished = run(scenario)
    return tell_run(
        finished,
        wrong=bool(finished.execution.honest_valid),
        extra=("  (agent 0 broke its relation by one unit and lied about its neighbours)",),
    )


def _p09(printed: bool) -> Story:
    """The commitments are dead: lies in them change nothing. Repaired, there are none."""
    attack = HashLiar(before_keys=True) if printed else None
    scenario = attrs.evolve(SMALL, attack=attack, without=("P09",) if printed else ())
    finished = run(scenario)
    phases = list(dict.fromkeys(spoken.phase for spoken in finished.execution.rounds))
    valid = finished.execution.honest_valid
    lines = (f"phases {phases}", f"{'lies in every commitment; ' if printed else ''}valid {valid}")
    dead = printed and len(valid) == 4 and "LocalValidate.commitments" in phases
    return Story(lines, dead, finished)


def _p11(printed: bool) -> Story:
    scenario = attrs.evolve(
        SMALL,
        graph=parts.Family("complete:3"),
        loss=parts.RandomQuadratics(2),
        attack=EarlyKeys(),
        without=("P11",) if printed else (),
    )
    try:
        finished = run(scenario)
    except AttackError as error:
        said = f"the attack cannot even be built: {error}"
        return Story((said,), wrong=False, refusals=(said,))
    return tell_run(
        finished,
        wrong=bool(finished.execution.honest_valid),
        extra=("  (agent 0 added to Gamma a vector that hashes to 0 under all known keys)",),
    )


PUSHED = Scenario(
    graph=parts.Family("complete:5"),
    loss=parts.RandomRidge(dimension=2, samples=6),
    rounds=60,
    seed=0,
    byzantine=(4,),
    attack=Benign(fraction=2.5),
)
"""Agent 4 learns from data of its own making, beyond what is admissible; gradients are noisy."""


def _p27(printed: bool) -> Story:
    finished = run(attrs.evolve(PUSHED, without=("P27",) if printed else ()))
    distance = finished.judgement.squared_distance
    extra = () if distance is None else (f"  squared distance to A(H): {distance:.4f}",)
    return tell_run(finished, wrong=bool(finished.execution.honest_valid), extra=extra)


HONEST = Scenario(
    graph=parts.Family("path:3"),
    loss=parts.RandomQuadratics(2),
    rounds=4,
    checks=OPEN,
    seed=0,
)
"""Three honest agents, diminishing steps, thresholds out of the way."""

WEIGHTED = attrs.evolve(
    HONEST,
    graph=parts.Family("path:4"),
    rounds=200,
    checks=(parts.Check("gamma = .99", parts.Exponential(0.99), parts.CalibratedThresholds()),),
)
"""An honest path of four with calibrated thresholds."""


def _honest(erratum: str, about: str, scenario: Scenario = HONEST) -> Witness:
    """A run in which nobody cheats; any alarm is wrong."""

    def tell(printed: bool) -> Story:
        finished = run(attrs.evolve(scenario, without=(erratum,) if printed else ()))
        alarmed = any(state.memory.alarms for state in finished.execution.states.values())
        return tell_run(finished, wrong=alarmed)

    return Witness(erratum, about, tell)


WITNESSES = (
    Witness(
        "P06",
        "a Byzantine agent that nobody honest hears lets its neighbour say anything",
        _p06,
    ),
    Witness("P07", "a lone honest agent is drawn to 49.1 and ends valid", _p07),
    Witness(
        "P08",
        "where only neighbours are checked a false report balances a broken relation",
        _p08,
    ),
    Witness("P09", "hashes broadcast before the keys are read by nobody", _p09),
    Witness("P11", "keys known before the transcripts are fixed hide a broken relation", _p11),
    _honest("P13", "adding Gamma where it must be subtracted breaks every honest relation"),
    _honest("P14", "with eta(t) in place of eta(t+1) every honest relation breaks"),
    _honest("P15", "hashing X^in where Gamma is meant breaks every honest relation"),
    _honest("P17", "rounding model and gradient apart breaks every honest relation"),
    _honest("P24", "weights that multiply by their sum alarm an honest network", WEIGHTED),
    Witness(
        "P27", "a push that is small against the noise passes a test of averaged lengths", _p27
    ),
)
