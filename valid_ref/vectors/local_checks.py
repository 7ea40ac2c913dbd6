"""Vectors of LocalValidate: norms, forms of keys and reports, and all checks of the hashes."""

from collections.abc import Mapping, Sequence

import attrs

from valid_ref.lattice import MERSENNE_61
from valid_ref.protocols import local_validate
from valid_ref.protocols.broadcast import Tag
from valid_ref.protocols.learn import LearningMessage, Transcripts
from valid_ref.protocols.parameters import ValidParameters
from valid_ref.reading import Reading
from valid_ref.vectors import sample
from valid_ref.vectors.document import Case, Family, Json, Operation, make
from valid_ref.vectors.forms import CANDIDATE, Candidate, key_candidates, report_candidates
from valid_ref.vectors.numbers import whole, wholes
from valid_ref.vectors.sample import TRANSCRIPTS, transcript
from valid_ref.vectors.schema import (
    AGENT,
    ALARMS,
    FLAG,
    INTEGER,
    SMALL,
    VECTOR,
    fields,
    many,
    ref,
)
from valid_ref.vectors.spoken import transcript_json
from valid_ref.wire import alarms_as_json, parameters_in_digits

REPORTS = many(fields(reporter=AGENT, agent=AGENT, hashes=VECTOR))
OPERATIONS = {
    "key-form": Operation(
        "Whether a value is a well-formed key.",
        fields(prime=INTEGER, value=CANDIDATE),
        fields(well_formed=FLAG),
    ),
    "report-form": Operation(
        "Whether a value is a well-formed report for so many agents.",
        fields(prime=INTEGER, agents=SMALL, value=CANDIDATE),
        fields(well_formed=FLAG),
    ),
    "norms": Operation(
        "The alarms of LV-2 over what one neighbour sent in rounds 1..T.",
        fields(parameters=ref("parameters"), sender=AGENT, transcript=ref("transcript")),
        fields(alarms=ALARMS),
    ),
    "report": Operation(
        "The report about one transcript: for each key owner H_out, H_in, H_in,eta, H_Gamma.",
        fields(parameters=ref("parameters"), keys=VECTOR, transcript=ref("transcript")),
        fields(hashes=VECTOR),
    ),
    "hashes": Operation(
        "The alarms of LV-7, LV-8 and LV-9 of one agent, which holds these reports (others are "
        "null) and whose own record has the hashes `own`. Per key in increasing order of owners: "
        "consistency of every agent, then relations, then the self-check.",
        fields(parameters=ref("parameters"), agent=AGENT, reports=REPORTS, own=VECTOR),
        fields(alarms=ALARMS),
    ),
}


def _key_form(name: str, value: Candidate) -> Case:
    public = sample.parameters()
    return make(
        f"local-checks/key-form/{name}", "LV-4 VB-9", value.comment,
        {"prime": whole(public.field.prime), "value": value.as_json()},
        lambda: {"well_formed": local_validate.is_key(public, value.plain)},
    )  # fmt: skip


def _report_form(name: str, value: Candidate) -> Case:
    public = sample.parameters()
    return make(
        f"local-checks/report-form/{name}", "LV-6 VB-9", value.comment,
        {"prime": whole(public.field.prime), "agents": 3, "value": value.as_json()},
        lambda: {"well_formed": local_validate.is_report(public, value.plain)},
    )  # fmt: skip


def _norms(
    name: str, comment: str, *rounds: tuple[int, int], public: ValidParameters | None = None
) -> Case:
    public, sent = sample.parameters() if public is None else public, transcript(*rounds)

    def compute() -> Json:
        received = Transcripts(own=(), received={1: sent})
        return {"alarms": alarms_as_json(local_validate.norm_alarms(public, received))}

    given = {
        "parameters": parameters_in_digits(public),
        "sender": 1,
        "transcript": transcript_json(sent),
    }
    return make(f"local-checks/norms/{name}", "LV-2 AR-8 AR-12", comment, given, compute)


def _report(
    name: str, comment: str, keys: Sequence[int], sent: Sequence[LearningMessage],
    public: ValidParameters | None = None,
) -> Case:  # fmt: skip
    known = sample.parameters() if public is None else public
    given = {
        "parameters": parameters_in_digits(known), "keys": wholes(keys),
        "transcript": transcript_json(sent),
    }  # fmt: skip
    return make(
        f"local-checks/report/{name}", "LV-5 LV-6 HA-10", comment, given,
        lambda: {"hashes": wholes(local_validate.transcript_report(known, keys, sent))},
    )  # fmt: skip


Received = Mapping[Tag, Sequence[LearningMessage]]


def _hashes(
    name: str, source: str, comment: str, changed: Received | None = None, *, agent: int = 1,
    lacking: Sequence[Tag] = (), public: ValidParameters | None = None,
    own: Sequence[LearningMessage] | None = None,
) -> Case:  # fmt: skip
    """The checks of one agent of the worked example; `changed` are reports of other transcripts."""
    known = sample.parameters() if public is None else public
    held = {tag: value for tag, value in sample.reports(changed).items() if tag not in lacking}
    record = TRANSCRIPTS[agent] if own is None else own
    mine = local_validate.transcript_report(known, sample.KEYS, record)

    def compute() -> Json:
        reports: Json = held
        return {"alarms": alarms_as_json(local_validate.hash_alarms(known, agent, reports, mine))}

    given = {
        "parameters": parameters_in_digits(known),
        "agent": agent,
        "reports": [
            {"reporter": reporter, "agent": about, "hashes": wholes(value)}
            for (reporter, about), value in held.items()
        ],
        "own": wholes(mine),
    }
    return make(f"local-checks/hashes/{name}", source, comment, given, compute)


def _hash_cases() -> tuple[Case, ...]:
    broken, missed = transcript((0, 0), (1, 5)), transcript((0, -17), (1, 5))
    own_keys = sample.with_own_keys(sample.parameters())
    wrong = transcript((8, -32), (13, -16))
    by_all: Received = {(1, 0): broken}
    public = sample.parameters()
    printed = attrs.evolve(public, reading=Reading.without("P08"))
    return (
        _hashes("honest", "LV-7 LV-8 LV-9 L1", "nothing to object to"),
        _hashes("honest-end", "LV-7 LV-8 LV-9 L1", "the end of the path", agent=2),
        _hashes("broken-relation", "LV-8", "Gamma(2) of agent 0 is 5: broken under every key but 0",
                by_all),
        _hashes("broken-relation-far", "LV-8 P08", "seen by an agent that is no neighbour", by_all,
                agent=2),
        _hashes("broken-relation-far-printed", "P08", "as printed only neighbours are checked",
                by_all, agent=2, public=printed),
        _hashes("missed-by-one-key", "LV-8 L2", "Gamma plus (-17, 1) is missed by the key 17 alone",
                {(1, 0): missed}),
        _hashes("missed-by-own-key", "LV-8 LV-10", "agent 1 checks its key 17 only: no alarm",
                {(1, 0): missed}, public=own_keys),
        _hashes("found-by-own-key", "LV-8 LV-10", "agent 2 checks its key 42 only",
                {(1, 0): missed}, agent=2, public=own_keys),
        _hashes("inconsistent", "LV-7", "agent 2 reports another x(2) of agent 1; not my own",
                {(2, 1): wrong}, agent=0),
        _hashes("lowest-reporter-counts", "LV-7 LV-8", "agent 0 reports another x(2) of agent 1: "
                "its report is used in the relations", {(0, 1): wrong}, agent=2),
        _hashes("self-mismatch", "LV-9 P07", "one neighbour reports of me what I did not send",
                {(2, 1): wrong}),
        _hashes("self-mismatch-all", "LV-9 P07", "all neighbours agree on what I did not send",
                {(0, 1): wrong, (2, 1): wrong}),
        _hashes("self-mismatch-printed", "P07", "as printed an agent does not look", agent=1,
                own=wrong, public=attrs.evolve(public, reading=Reading.without("P07"))),
        _hashes("null-report-skipped", "LV-11", "agent 0 has no report about 1: that of 2 is used",
                lacking=[(0, 1)]),
        _hashes("no-reporter", "LV-11", "nobody reports on 0: the relations of 0 and 1 are skipped",
                {(2, 1): wrong}, lacking=[(1, 0)], agent=0),
        _hashes("no-report-at-all", "LV-11", "nothing is held, nothing is tested",
                lacking=[(1, 0), (0, 1), (2, 1), (1, 2)]),
    )  # fmt: skip


def family() -> Family:
    """All cases of the local checks."""
    public = sample.parameters()
    residue = [0, 1, 2, 10006, *range(8)]
    return Family(
        "local-checks",
        "The checks of LocalValidate (spec/local-validate.md) as one agent makes them.",
        ("For each case, compute the operation named in `operation` from `input` and compare.",
         "Values of the kind `other` are of a type that is no integer; skip them where your wire "
         "format cannot carry such a thing.",
         "Skip cases with a switch in `without` that you do not have: they show the text as "
         "printed."),
        OPERATIONS,
        (
            *(_key_form(name, value) for name, value in key_candidates(public.field.prime).items()),
            *(_report_form(name, value)
              for name, value in report_candidates(residue, public.field.prime).items()),
            _norms("honest", "the worked example", (8, -32), (12, -16)),
            _norms("on-the-bound", "B_1 = 17, C_1 = 35 are allowed", (17, 70), (-26, -104)),
            _norms("model-too-long", "18 in round 1", (18, 0), (0, 0)),
            _norms("negative-model", "-27 in round 2", (0, 0), (-27, 0)),
            _norms("gradient-rounds-down", "71 // 2 = 35 passes, 72 // 2 = 36 does not", (0, 71),
                   (0, 0)),
            _norms("gradient-too-long", "72 // 2 = 36", (0, 72), (0, 0)),
            _norms("negative-gradient", "-71 // 2 = -36: rounding down counts", (0, -71), (0, 0)),
            _norms("both-rounds", "model before gradient, rounds in order", (18, 72), (27, 106)),
            _norms("no-bounds", "`bounds` is null: no norm is checked", (400, 4000), (-400, 4000),
                   public=attrs.evolve(public, bounds=None)),
            _report("agent-0", "the worked example", sample.KEYS, TRANSCRIPTS[0]),
            _report("agent-1", "the worked example", sample.KEYS, TRANSCRIPTS[1]),
            _report("missing-key-counts-as-zero", "0 in place of the key of agent 1 (LV-4)",
                    (5, 0, 42), TRANSCRIPTS[2]),
            _report("default-prime", "2^61 - 1", (MERSENNE_61 - 1, 2, 2**60), TRANSCRIPTS[1],
                    sample.parameters_for(public.graph, public.lattice.schedule, MERSENNE_61)),
            *_hash_cases(),
        ),
    )  # fmt: skip
