"""The outcome of a run with its evidence, condition by condition."""

from valid_ref.explore.counterexample import PlayedScript
from valid_ref.front import Run
from valid_ref.guarantees.outcome import Judgement, Outcome
from valid_ref.oracle import Verdict
from valid_ref.protocols.agreement import AgreementState
from valid_ref.protocols.broadcast import BroadcastState
from valid_ref.report.view import Evidence, OutcomeView
from valid_ref.report.words import OUTCOMES

TONES = {"a": "good", "b": "good", "c": "good", "right": "good", "unknown": "open"}


def outcome(name: str, evidence: tuple[Evidence, ...] = (), meaning: str = "") -> OutcomeView:
    """An outcome by its name; `meaning` in place of the usual one."""
    return OutcomeView(name, TONES.get(name, "bad"), meaning or OUTCOMES[name], evidence)


def of_run(finished: Run) -> OutcomeView:
    """The outcome of a run, by somebody who knows the losses and who is Byzantine."""
    execution = finished.execution
    honest, valid = execution.honest, execution.honest_valid
    return outcome(
        finished.outcome,
        evidence_of(
            finished.judgement, len(honest), len(valid), len(execution.byzantine),
            finished.prepared.eps_success,
        ),
    )  # fmt: skip


def of_story(finished: Run, *, wrong: bool) -> OutcomeView:
    """A run that shows an erratum: whether it goes wrong, and its outcome as evidence."""
    found = of_run(finished)
    notes = [note for note in finished.prepared.notes if note.startswith("no guarantee applies")]
    if notes:
        silent = Evidence("the protocol promises nothing for this network", "yes", notes[0])
        holding = tuple(row for row in found.evidence if row.holds == "yes")
        return outcome("wrong" if wrong else "right", (silent, *holding))
    ended = Evidence(
        "the run has one of the outcomes a, b, c", _truth(found.outcome != "failed"),
        f"{found.outcome}: {found.meaning}",
    )  # fmt: skip
    return outcome("wrong" if wrong else "right", (ended, *found.evidence))


def of_recording(verdict: Verdict, eps_success: float | None) -> OutcomeView:
    """What the oracle found out."""
    conforms = {"conforms": "yes", "diverges": "no"}.get(verdict.status.value, "open")
    first = Evidence("every honest agent follows the specification", conforms, verdict.reason)
    findings = verdict.findings
    if findings is None or findings.outcome is None:
        name = "wrong" if conforms == "no" else "unknown"
        meaning = "The recording diverges from the specification." if conforms == "no" else ""
        reason = "" if findings is None else findings.reason
        more = (Evidence("the outcome is known", "open", reason),) if reason else ()
        return outcome(name, (first, *more), meaning)
    rest: tuple[Evidence, ...] = ()
    if findings.judgement is not None:
        rest = _distance(findings.judgement, eps_success)
    return outcome(findings.outcome, (first, *rest))


def of_replay(replay: PlayedScript) -> OutcomeView:
    """A counterexample: the guarantee, and who breaks it."""
    holds = replay.verdict.holds
    broken = replay.script.broken
    shown = Evidence(f"{broken} holds", _truth(holds), replay.verdict.reason)
    meaning = "" if holds else f"The promise {broken} is broken."
    return outcome("right" if holds else "wrong", (shown,), meaning)


def evidence_of(
    judgement: Judgement, honest: int, valid: int, byzantine: int, eps_success: float | None
) -> tuple[Evidence, ...]:
    """The conditions of a, b and c that matter for this run."""
    cheats = f"{byzantine} Byzantine agent{'s' * (byzantine > 1)}" if byzantine else ""
    rows = [Evidence("somebody cheats" if byzantine else "nobody cheats", "yes", cheats)]
    alarmed = honest - valid
    figures = f"{valid} of {honest} honest agents end valid"
    if not byzantine:
        rows.append(Evidence("every agent ends valid", _truth(alarmed == 0), figures))
    elif judgement.outcome is Outcome.C:
        rows.append(Evidence("every honest agent has an alarm", "yes", f"{alarmed} of {honest}"))
    else:
        rows.append(Evidence("some honest agents end valid", _truth(valid > 0), figures))
    return (*rows, *_distance(judgement, eps_success))


def _distance(judgement: Judgement, eps_success: float | None) -> tuple[Evidence, ...]:
    rows = []
    if judgement.squared_distance is not None and judgement.outcome is not Outcome.C:
        to = "the admissible models" if judgement.strong is not None else "the optimum"
        figures = f"mean squared distance {judgement.squared_distance:.3g}"
        near = "open"
        if eps_success is not None:
            near = _truth(judgement.squared_distance < eps_success)
            figures += f"{', below' if near == 'yes' else ', not below'} {eps_success:.3g}"
        rows.append(Evidence(f"the valid agents are near {to}", near, figures))
    if judgement.consensus_error is not None:
        figures = f"mean squared distance to their mean {judgement.consensus_error:.3g}"
        agree = "open" if eps_success is None else _truth(judgement.consensus_error < eps_success)
        rows.append(Evidence("they agree with each other", agree, figures))
    names = {"yes": "yes", "no": "no", "unknown": "open"}
    if judgement.strong is not None:
        holds = names[judgement.strong.value]
        rows.append(Evidence("admissible for all honest agents, not only the valid", holds, ""))
    if judgement.relaxed is not None:
        holds = names[judgement.relaxed.value]
        rows.append(Evidence("within the set that passing the checks certifies", holds, ""))
    return tuple(rows)


def belief(state: object) -> str:
    """What an agent of a sub-protocol holds."""
    if isinstance(state, BroadcastState):
        values = sorted({str(value) for value in state.held.values()})
        return f"holds {', '.join(map(repr, values))}" if values else "holds nothing"
    if isinstance(state, AgreementState):
        return "alarmed" if state.alarmed else "no alarm"
    return ""


def _truth(value: bool) -> str:
    return "yes" if value else "no"
