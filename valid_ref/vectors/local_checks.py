"""Vectors of LocalValidate: norms, forms of keys and reports, and all checks of the hashes."""

from collections.abc import Mapping, Sequence

import attrs

from valid_ref.document import Json
from valid_ref.lattice import MERSENNE_61
from valid_ref.protocols import local_validate
from valid_ref.protocols.broadcast import Tag
from valid_ref.protocols.learn import LearningMessage, Transcripts
from valid_ref.protocols.parameters import CheckedKeys, ValidParameters
from valid_ref.reading import Reading
from valid_ref.vectors import parameters as sample
from valid_ref.vectors.document import COMPARE, VectorCase, VectorFamily, operation
from valid_ref.vectors.parameters import TRANSCRIPTS, transcript
from valid_ref.vectors.schema import (
    AGENT,
    ALARMS,
    CANDIDATE,
    FLAG,
    INTEGER,
    SMALL,
    VECTOR,
    fields,
    many,
    ref,
)

Transcript = Sequence[LearningMessage]
Received = Mapping[Tag, Transcript]


REPORTS = many(fields(reporter=AGENT, agent=AGENT, hashes=VECTOR))


@operation(
    "local-checks/key-form",
    fields(prime=INTEGER, value=CANDIDATE),
    fields(well_formed=FLAG),
    "LV-4 VB-9",
)
def key_form(prime: int, value: object) -> Json:
    """Whether a value is a well-formed key."""
    del prime  # that of the worked example
    return {"well_formed": local_validate.is_key(sample.parameters(), value)}


@operation(
    "local-checks/report-form",
    fields(prime=INTEGER, agents=SMALL, value=CANDIDATE),
    fields(well_formed=FLAG),
    "LV-6 VB-9",
)
def report_form(prime: int, agents: int, value: object) -> Json:
    """Whether a value is a well-formed report for so many agents."""
    del prime, agents  # those of the worked example
    return {"well_formed": local_validate.is_report(sample.parameters(), value)}


@operation(
    "local-checks/norms",
    fields(parameters=ref("parameters"), sender=AGENT, transcript=ref("transcript")),
    fields(alarms=ALARMS),
    "LV-2 AR-8 AR-12",
)
def norms(parameters: ValidParameters, sender: int, transcript: Transcript) -> Json:
    """The alarms of LV-2 over what one neighbour sent in rounds 1..T."""
    received = Transcripts(own=(), received={sender: tuple(transcript)})
    return {"alarms": local_validate.norm_alarms(parameters, received)}


@operation(
    "local-checks/report",
    fields(parameters=ref("parameters"), keys=VECTOR, transcript=ref("transcript")),
    fields(hashes=VECTOR),
    "LV-5 LV-6 HA-10",
)
def report(parameters: ValidParameters, keys: Sequence[int], transcript: Transcript) -> Json:
    """The report about one transcript: for each key owner H_out, H_in, H_in,eta, H_Gamma."""
    return {"hashes": local_validate.transcript_report(parameters, keys, transcript)}


@operation(
    "local-checks/hashes",
    fields(parameters=ref("parameters"), agent=AGENT, reports=REPORTS, own=VECTOR),
    fields(alarms=ALARMS),
)
def hashes(
    parameters: ValidParameters, agent: int, reports: Sequence[Json], own: tuple[int, ...]
) -> Json:
    """The alarms of LV-7, LV-8 and LV-9 of one agent, which holds these reports (others are null)
    and whose own record has the hashes `own`. Per key in increasing order of owners: consistency
    of every agent, then relations, then the self-check.
    """
    held = {(one["reporter"], one["agent"]): one["hashes"] for one in reports}
    return {"alarms": local_validate.hash_alarms(parameters, agent, held, own)}


OPERATIONS = (key_form, report_form, norms, report, hashes)


def _forms() -> tuple[VectorCase, ...]:
    """Keys and reports, and values that are none."""
    public = sample.parameters()
    prime, good = public.field.prime, (0, 1, 2, 10006, *range(8))

    def key(name: str, comment: str, value: object) -> VectorCase:
        return key_form(name, comment, prime, value)

    def report(name: str, comment: str, value: object) -> VectorCase:
        return report_form(name, comment, prime, public.graph.agents, value)

    return (
        key("zero", "the least key", 0),
        key("largest", "the largest key", prime - 1),
        key("prime", "p is no key", prime),
        key("negative", "nor is -1", -1),
        key("wide", "more than 64 bits", 2**70),
        key("boolean", "true is no integer", True),
        key("real", "a floating-point number", 1.0),
        key("text", "a text", "1"),
        key("list", "a list of one", (1,)),
        report("good", "4n integers in 0..p-1", good),
        report("short", "one entry is missing", good[:-1]),
        report("long", "one entry too many", (*good, 0)),
        report("empty", "no entry", ()),
        report("prime", "an entry is p", (*good[:-1], prime)),
        report("negative", "an entry is negative", (-1, *good[1:])),
        report("real", "an entry is a floating-point number", (1.0, *good[1:])),
        report("nested", "an entry is a list", ((1,), *good[1:])),
        report("integer", "not a list", 7),
        report("text", "a text", "report"),
    )


def _transcripts() -> tuple[VectorCase, ...]:
    """The norms of what one neighbour sent, and the report about it."""
    public = sample.parameters()

    def sent(
        name: str, comment: str, *rounds: tuple[int, int], public: ValidParameters = public
    ) -> VectorCase:
        return norms(name, comment, public, 1, transcript(*rounds))

    large = sample.parameters_for(public.graph, public.lattice.schedule, MERSENNE_61)
    return (
        sent("honest", "the worked example", (8, -32), (12, -16)),
        sent("on-the-bound", "B_1 = 17, C_1 = 35 are allowed", (17, 70), (-26, -104)),
        sent("model-too-long", "18 in round 1", (18, 0), (0, 0)),
        sent("negative-model", "-27 in round 2", (0, 0), (-27, 0)),
        sent("gradient-rounds-down", "71 // 2 = 35 passes, 72 // 2 = 36 does not", (0, 71), (0, 0)),
        sent("gradient-too-long", "72 // 2 = 36", (0, 72), (0, 0)),
        sent("negative-gradient", "-71 // 2 = -36: rounding down counts", (0, -71), (0, 0)),
        sent("both-rounds", "model before gradient, rounds in order", (18, 72), (27, 106)),
        sent(
            "no-bounds",
            "`bounds` is null: no norm is checked",
            (400, 4000),
            (-400, 4000),
            public=attrs.evolve(public, bounds=None),
        ),
        report("agent-0", "the worked example", public, sample.KEYS, TRANSCRIPTS[0]),
        report("agent-1", "the worked example", public, sample.KEYS, TRANSCRIPTS[1]),
        report(
            "missing-key-counts-as-zero",
            "0 in place of the key of agent 1 (LV-4)",
            public,
            (5, 0, 42),
            TRANSCRIPTS[2],
        ),
        report("default-prime", "2^61 - 1", large, (MERSENNE_61 - 1, 2, 2**60), TRANSCRIPTS[1]),
    )


def _checked(
    name: str,
    source: str,
    comment: str,
    changed: Received | None = None,
    *,
    agent: int = 1,
    lacking: Sequence[Tag] = (),
    public: ValidParameters | None = None,
    own: Transcript | None = None,
) -> VectorCase:
    """The checks of one agent of the worked example; `changed` are reports of other transcripts."""
    known = sample.parameters() if public is None else public
    reports = [
        {"reporter": reporter, "agent": about, "hashes": value}
        for (reporter, about), value in sample.reports(changed).items()
        if (reporter, about) not in lacking
    ]
    record = TRANSCRIPTS[agent] if own is None else own
    mine = local_validate.transcript_report(known, sample.KEYS, record)
    return hashes(name, comment, known, agent, reports, own=mine, source=source)


def _hash_cases() -> tuple[VectorCase, ...]:
    broken, missed = transcript((0, 0), (1, 5)), transcript((0, -17), (1, 5))
    wrong = transcript((8, -32), (13, -16))
    by_all: Received = {(1, 0): broken}
    public = sample.parameters()
    own_keys = attrs.evolve(public, checked_keys=CheckedKeys.OWN)
    printed = attrs.evolve(public, reading=Reading.without("P08"))
    return (
        _checked("honest", "LV-7 LV-8 LV-9 L1", "nothing to object to"),
        _checked("honest-end", "LV-7 LV-8 LV-9 L1", "the end of the path", agent=2),
        _checked("broken-relation", "LV-8",
                 "Gamma(2) of agent 0 is 5: broken under every key but 0", by_all),
        _checked("broken-relation-far", "LV-8 P08", "seen by an agent that is no neighbour", by_all,
                 agent=2),
        _checked("broken-relation-far-printed", "P08", "as printed only neighbours are checked",
                 by_all, agent=2, public=printed),
        _checked("missed-by-one-key", "LV-8 L2",
                 "Gamma plus (-17, 1) is missed by the key 17 alone", {(1, 0): missed}),
        _checked("missed-by-own-key", "LV-8 LV-10", "agent 1 checks its key 17 only: no alarm",
                 {(1, 0): missed}, public=own_keys),
        _checked("found-by-own-key", "LV-8 LV-10", "agent 2 checks its key 42 only",
                 {(1, 0): missed}, agent=2, public=own_keys),
        _checked("inconsistent", "LV-7", "agent 2 reports another x(2) of agent 1; not my own",
                 {(2, 1): wrong}, agent=0),
        _checked("lowest-reporter-counts", "LV-7 LV-8",
                 "agent 0 reports another x(2) of agent 1: its report is used in the relations",
                 {(0, 1): wrong}, agent=2),
        _checked("self-mismatch", "LV-9 P07", "one neighbour reports of me what I did not send",
                 {(2, 1): wrong}),
        _checked("self-mismatch-all", "LV-9 P07", "all neighbours agree on what I did not send",
                 {(0, 1): wrong, (2, 1): wrong}),
        _checked("self-mismatch-printed", "P07", "as printed an agent does not look", agent=1,
                 own=wrong, public=attrs.evolve(public, reading=Reading.without("P07"))),
        _checked("null-report-skipped", "LV-11", "agent 0 has no report about 1: that of 2 is used",
                 lacking=[(0, 1)]),
        _checked("no-reporter", "LV-11",
                 "nobody reports on 0: the relations of 0 and 1 are skipped", {(2, 1): wrong},
                 lacking=[(1, 0)], agent=0),
        _checked("no-report-at-all", "LV-11", "nothing is held, nothing is tested",
                 lacking=[(1, 0), (0, 1), (2, 1), (1, 2)]),
    )  # fmt: skip


def family() -> VectorFamily:
    """All cases of the local checks."""
    return VectorFamily(
        "local-checks",
        "The checks of LocalValidate (spec/local-validate.md) as one agent makes them.",
        (
            COMPARE,
            "Values of the kind `other` are of a type that is no integer; skip them where your "
            "wire format cannot carry such a thing.",
            "Skip cases with a switch in `without` that you do not have: they show the text as "
            "printed.",
        ),
        OPERATIONS,
        (*_forms(), *_transcripts(), *_hash_cases()),
    )
