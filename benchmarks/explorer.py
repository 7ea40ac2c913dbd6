"""States a second of the compiled explorer against its plain twin on the same cases."""

from benchmarks.report import Section
from benchmarks.timing import Sample
from valid_ref.explore import Settings, measure_plain


def measure(quick: bool) -> Section:
    """Every so many classes of the broadcast, by both."""
    rows = []
    for agents, every in ((5, 4),) if quick else ((5, 1), (6, 60)):
        runs = [measure_plain(Settings(max_agents=agents), every) for _ in range(3)]
        compiled = Sample(tuple(one.states / one.compiled_seconds for one in runs))
        plain = Sample(tuple(one.states / one.plain_seconds for one in runs))
        times = Sample(tuple(one.ratio for one in runs))
        rows.append((agents, runs[0].cases, runs[0].states, compiled, plain, times))
    return Section(
        "The explorer",
        (
            "agents up to",
            "cases",
            "states",
            "compiled, states/s",
            "plain Python, states/s",
            "times as fast",
        ),
        tuple(rows),
    )
