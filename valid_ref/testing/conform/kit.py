"""The kit: judge an agent by all cases or by one, with fresh starts and confirmation."""

import time
from collections.abc import Callable, Iterable
from typing import Any

import attrs

from valid_ref.oracle.check import Status
from valid_ref.oracle.divergence import Divergence
from valid_ref.testing.conform.case import ConformCase, ExpectedRun, expected_run
from valid_ref.testing.conform.cases import fixed_cases
from valid_ref.testing.conform.drive import (
    PAPER,
    START,
    VALIDATIONS,
    AgentFinding,
    Conversation,
    drive,
    say_hello,
)
from valid_ref.testing.conform.peer import (
    AgentFault,
    ConformError,
    FindingKind,
    OtherProtocolError,
    Peer,
)

Watch = Callable[[int], None]
"""Told how many cases have been driven."""

Search = Callable[["Session"], AgentFinding | None]
"""Drives generated cases and gives back the first divergence, shrunk."""


class UnsteadyError(Exception):
    """Time-outs that did not happen again: it may have been the machine."""


PATIENCE = 3
"""Time-outs that did not happen again, after which the search is given up."""


@attrs.frozen
class Report:
    """What the kit says of an agent; `validations` are those in which it was driven.

    Implements: CF-14.
    """

    status: Status
    reason: str
    agent: str = ""
    cases: int = 0
    finding: AgentFinding | None = None
    validations: tuple[str, ...] = ()

    @property
    def conforms(self) -> bool:
        """Whether every answer in every case was as specified."""
        return self.status is Status.CONFORMS

    def as_json(self) -> dict[str, Any]:
        """The report for machines."""
        return {
            "verdict": self.status.value,
            "reason": self.reason,
            "agent": self.agent,
            "cases": self.cases,
            "validations": list(self.validations),
            "finding": None if self.finding is None else _finding_as_json(self.finding),
        }


def _finding_as_json(finding: AgentFinding) -> dict[str, Any]:
    divergence: dict[str, Any] = attrs.asdict(finding.divergence)
    difference: dict[str, Any] = divergence.pop("difference")
    place = {"kind": finding.kind.value, "case": finding.case.name}
    return place | divergence | difference | {"stderr": finding.stderr}


class Session:
    """Drives cases through one process after another of the same agent.

    The process is kept from case to case; `start` begins anew in it (CF-4). `played` gives what
    the reference does in a case. `unsteady` names the cases with a time-out that did not happen
    again. `refused` is what went wrong at hello; the next case that is driven meets it.
    """

    def __init__(
        self,
        peer: Peer,
        watch: Watch | None = None,
        played: Callable[[ConformCase], ExpectedRun] = expected_run,
    ) -> None:
        self.peer, self.cases, self.name = peer, 0, ""
        self._watch, self._played = watch, played
        self._talk: Conversation | None = None
        self.refused: AgentFault | None = None
        self._earlier = 0
        self.unsteady: list[str] = []
        self.driven: tuple[str, ...] = ()

    @property
    def validations(self) -> tuple[str, ...]:
        """Those that the agent has. If it fails at hello: the paper's, and the next case tells why.

        Implements: CF-2.
        """
        try:
            return self._greeted().validations
        except AgentFault as fault:
            self.refused = fault
            return (PAPER,)

    def _greeted(self) -> Conversation:
        """The conversation with the process of now."""
        if self.refused is not None:
            raise self.refused
        if self._talk is None:
            self._earlier = 0
            self._talk = say_hello(self.peer)
            self.name = self._talk.name
        return self._talk

    def drive(self, case: ConformCase) -> AgentFinding | None:
        """Drive one case; after a finding the next one gets a fresh process."""
        finding = self._play(self._played(case))
        self.cases += 1
        self.driven = tuple(sorted({*self.driven, case.validation}, key=VALIDATIONS.index))
        if self._watch is not None:
            self._watch(self.cases)
        return finding

    def _play(self, run: ExpectedRun) -> AgentFinding | None:
        try:
            talk = self._greeted()
        except AgentFault as fault:
            words = self.peer.last_words()
            self.renew()
            divergence = Divergence(
                agent=run.agent,
                phase=START,
                round=0,
                edge=None,
                agreed="nothing yet",
                difference=fault.difference,
                replay="",
            )
            return AgentFinding(run.case, fault.kind, divergence, words)
        finding = drive(run, talk)
        self._earlier += 1
        if finding is not None:
            finding = attrs.evolve(finding, stderr=self.peer.last_words())
            self.renew()
        return finding

    def renew(self) -> None:
        """Go on with a fresh process."""
        self.peer.renew()
        self._talk, self.refused = None, None

    def confirmed(self, case: ConformCase) -> AgentFinding | None:
        """Drive a case; a finding must come again in a fresh process.

        One that does not was left over from earlier cases, or is a matter of luck. A time-out
        that does not come again is noted; only after several of them the search is given up.

        Implements: CF-4, CF-13, CF-14.
        """
        finding = self.drive(case)
        if finding is None:
            return None
        alone = self._earlier <= 1
        seen = [finding]
        for _try in range(2):
            again = self._again(case)
            if again is None:
                break
            if again.clause in {earlier.clause for earlier in seen}:
                return again
            seen.append(again)
            if all(one.kind is not FindingKind.TIMEOUT for one in seen):
                break
        plain = [one for one in seen if one.kind is not FindingKind.TIMEOUT]
        if not plain:
            self._note_unsteady(case)
            return None
        return _not_repeated(plain[0], "MO-5" if alone or plain[0] is not finding else "CF-4")

    def _again(self, case: ConformCase) -> AgentFinding | None:
        """Drive a case in a fresh process; other words at hello are another answer."""
        try:
            return self.drive(case)
        except OtherProtocolError:
            self.renew()
            return None

    def _note_unsteady(self, case: ConformCase) -> None:
        self.unsteady.append(f"a time-out in the case {case.name!r} that did not happen again")
        if len(self.unsteady) >= PATIENCE:
            raise UnsteadyError("; ".join(self.unsteady))

    def twice(self, case: ConformCase) -> AgentFinding | None:
        """Drive a case in a fresh process and again in the same one.

        Implements: CF-4, CF-15.
        """
        if self.refused is None:
            self.renew()
        finding = self.confirmed(case)
        if finding is not None or self.unsteady:
            return finding
        again = self.drive(case)
        return None if again is None else _not_repeated(again, "CF-4")


def _not_repeated(finding: AgentFinding, clause: str) -> AgentFinding:
    difference = finding.divergence.difference
    story = f"{difference.what} [{difference.clause}], but not in a fresh process"
    changed = attrs.evolve(difference, clause=clause, what=story)
    divergence = attrs.evolve(finding.divergence, difference=changed)
    return attrs.evolve(finding, kind=FindingKind.NOT_REPEATED, divergence=divergence)


def first_finding(session: Session, cases: Iterable[ConformCase]) -> AgentFinding | None:
    """The first confirmed divergence in these cases; those that the agent cannot play are left out.

    Implements: CF-15.
    """
    known = session.validations
    for case in cases:
        finding = session.confirmed(case) if case.validation in known else None
        if finding is not None:
            return finding
    return None


def judge(session: Session, *searches: Search) -> Report:
    """Run the searches one after the other, up to the first divergence.

    What goes wrong in the kit itself is never held against the agent; bad input is refused.

    Implements: CF-14.
    """
    finding = None
    begin = time.monotonic()
    try:
        for search in searches:
            finding = search(session)
            if finding is not None:
                break
    except (UnsteadyError, OtherProtocolError) as error:
        return Report(Status.CANNOT_TELL, str(error), session.name, session.cases)
    except ConformError:
        raise
    except Exception as error:
        reason = f"the kit failed after {session.cases} cases: {type(error).__name__}: {error}"
        return Report(Status.CANNOT_TELL, reason, session.name, session.cases)
    finally:
        session.peer.close()
    if finding is not None:
        reason = f"{finding.kind.value} against {finding.clause} in the case {finding.case.name!r}"
        return Report(Status.DIVERGES, reason, session.name, session.cases, finding)
    if session.unsteady:
        reason = "; ".join(session.unsteady)
        return Report(Status.CANNOT_TELL, reason, session.name, session.cases)
    seconds = time.monotonic() - begin
    known = session.driven
    reason = (
        f"every answer is as specified in {session.cases} cases, "
        f"validation {' and '.join(known)} ({seconds:.1f} s)"
    )
    return Report(Status.CONFORMS, reason, session.name, session.cases, validations=known)


def conform(peer: Peer, examples: int = 200, seed: int = 0, watch: Watch | None = None) -> Report:
    """The fixed cases, then generated ones: `conform(ObjectPeer(MyAgent))` for a Python class.

    Implements: CF-14, CF-15, CF-16.
    """
    cases = fixed_cases()
    searches: list[Search] = [lambda session: first_finding(session, cases)]
    if examples:
        searches.append(_generated(examples, seed))
    return judge(Session(peer, watch), *searches)


def replay(peer: Peer, case: ConformCase, watch: Watch | None = None) -> Report:
    """One case, twice in one process; one that cannot be run is refused.

    Implements: CF-15.
    """
    expected_run(case)

    def twice(session: Session) -> AgentFinding | None:
        if case.validation not in session.validations and session.refused is None:
            raise ConformError(
                f"the agent does not have the validation of the case, {case.validation}",
                clause="CF-15",
            )
        return session.twice(case)

    return judge(Session(peer, watch), twice)


def _generated(examples: int, seed: int) -> Search:
    """The search that needs Hypothesis."""
    try:
        from valid_ref.testing.conform.generate import find_divergence, temporary_home
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        raise ConformError(
            "generated cases need Hypothesis: pip install hypothesis, or --examples 0 "
            "for the fixed cases alone",
            clause="CF-15",
        ) from None

    def search(session: Session) -> AgentFinding | None:
        with temporary_home():
            return find_divergence(session, examples, seed)

    return search
