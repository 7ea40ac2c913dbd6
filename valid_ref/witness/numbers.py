"""Errata of the hash, of costs and of the assumptions: counted, not run."""

import itertools
from fractions import Fraction

import numpy as np

from valid_ref.graph import assumption_1, assumption_1_plus
from valid_ref.graph_families import complete, connected_graphs
from valid_ref.hashing import FieldError, PrimeField, colliding_keys, collision_bound
from valid_ref.lattice import default_limits
from valid_ref.machine import count_scalars, run_machine
from valid_ref.protocols.broadcast import Slot, ValidatedBroadcast
from valid_ref.reading import Reading
from valid_ref.schedule import Precision, Schedule
from valid_ref.witness.story import Story, Witness


def _p18(*, printed: bool) -> Story:
    field, difference = PrimeField(13), np.array([-1, 0, -1, 1, 0, 1])
    keys = colliding_keys(field, difference)
    missed = Fraction(len(keys), 13) ** 2
    bound = Fraction(1, 13) if printed else collision_bound(field, 6, 2)
    lines = (
        f"p = 13, difference {difference.tolist()}: missed by the keys {list(keys)}",
        f"  two honest keys both miss it with probability {missed} = {float(missed):.3f}",
        f"  bound {'1/|F|^(|H|-1)' if printed else '((n-1)/p)^|H|'} = {float(bound):.3f}",
    )
    return Story(lines, wrong=missed > bound)


def _p19(*, printed: bool) -> Story:
    difference = np.zeros(14, dtype=np.int64)
    difference[1], difference[13] = 1, -1
    keys = len(colliding_keys(PrimeField(13), difference))
    lines = [f"p = 13, n = 14, difference e_2 - e_14: invisible to {keys} of 13 keys"]
    if printed:
        return Story(tuple(lines), wrong=keys == 13)
    for make in (lambda: PrimeField(13).check_length(14), lambda: PrimeField(8)):
        try:
            make()
        except FieldError as error:
            lines.append(f"  refused: {error}")
    return Story(tuple(lines), wrong=len(lines) < 3)


def _p20(*, printed: bool) -> Story:
    shift = np.array([101, 0, 0], dtype=np.int64)
    keys = len(colliding_keys(PrimeField(101), shift))
    lines = [f"p = 101: adding p to an entry is invisible to {keys} of 101 keys"]
    if printed:
        return Story(tuple(lines), wrong=keys == 101)
    schedule = Schedule(Precision(0, 0), mixing=(1,), gradient=(1,))
    limits = default_limits(3, schedule, 2, prime=101)
    lines.append(f"  range rule: no intermediate exceeds {limits.largest_intermediate} < 101")
    return Story(tuple(lines), wrong=limits.largest_intermediate >= 101)


def _p21(*, printed: bool) -> Story:
    pairs = satisfied = majority = hidden = 0
    for graph in connected_graphs(5):
        for size in range(1, 5):
            for byzantine in itertools.combinations(range(5), size):
                pairs += 1
                if not assumption_1(graph, byzantine):
                    continue
                report = assumption_1_plus(graph, byzantine)
                if not printed and not report.holds:
                    continue
                satisfied += 1
                majority += 2 * size >= 5
                hidden += bool(report.hidden)
    name = "Assumption 1" if printed else "Assumption 1+"
    line = (
        f"n = 5: {name} admits {satisfied} of {pairs} pairs, {majority} with half or more "
        f"Byzantine agents, {hidden} with agents that nobody honest hears"
    )
    return Story((line,), wrong=hidden > 0)


def _scalars(agents: int, reading: Reading) -> int:
    """What one agent of a complete graph sends when every agent broadcasts one number."""
    graph = complete(agents)
    slots: dict[int, tuple[Slot, ...]] = dict.fromkeys(range(agents), ("m",))

    def well_formed(_tag: object, value: object) -> bool:
        return isinstance(value, int)

    machine = ValidatedBroadcast(graph, "Broadcast", slots, well_formed, reading)
    private: dict[int, dict[Slot, object]] = {v: {"m": v} for v in range(agents)}
    result = run_machine(graph, machine, private)
    sent = sum(count_scalars(spoken.said[0]) for spoken in result.rounds)
    return sent * graph.degree(0)


def _p22(*, printed: bool) -> Story:
    reading = Reading.without("P22") if printed else Reading()
    ratios = [_scalars(n, reading) / (n * (n - 1)) for n in (5, 10, 20)]
    what = "re-sending in every round" if printed else "sending once and comparing once"
    lines = (
        f"K5, K10, K20, one broadcast each, {what}:",
        f"  scalars per agent over n (n-1): {[round(ratio, 1) for ratio in ratios]}",
    )
    return Story(lines, wrong=ratios[-1] > 2 * ratios[0])


def _p23(*, printed: bool) -> Story:
    n, edges = 20, 92
    broadcasts = 2 * edges + n + 2 * edges * (n - 1) + 2 * edges
    rounds = (broadcasts * n + edges) if printed else 4 * n - 1
    how = "one broadcast after the other" if printed else "all instances of a stage in parallel"
    line = f"two K10 joined by two edges, {how}: {rounds} rounds of validation"
    return Story((line,), wrong=rounds > 10 * n)


WITNESSES = tuple(
    Witness(
        erratum,
        about,
        lambda tell=tell: tell(printed=True),  # type: ignore[misc]
        lambda tell=tell: tell(printed=False),  # type: ignore[misc]
    )
    for erratum, about, tell in (
        ("P18", "the printed collision probability is exceeded", _p18),
        ("P19", "a field that is too small, or no prime field, leaves lies invisible", _p19),
        ("P20", "adding p to an entry is invisible modulo p", _p20),
        ("P21", "Assumption 1 admits agents that nobody honest hears", _p21),
        ("P22", "flooding costs more than the theorem says", _p22),
        ("P23", "validation rounds are not counted", _p23),
    )
)
