"""The kit in two functions: judge an agent by all cases, or by one."""

from valid_ref.testing.conform.case import Case
from valid_ref.testing.conform.cases import fixed_cases
from valid_ref.testing.conform.drive import Finding
from valid_ref.testing.conform.errors import ConformError
from valid_ref.testing.conform.peer import Peer
from valid_ref.testing.conform.script import script_of
from valid_ref.testing.conform.session import (
    Report,
    Search,
    Session,
    Watch,
    first_finding,
    judge,
)


def conform(peer: Peer, examples: int = 200, seed: int = 0, watch: Watch | None = None) -> Report:
    """The fixed cases, then generated ones: `conform(ObjectPeer(MyAgent))` for a Python class.

    Implements: CF-14, CF-15, CF-16.
    """
    cases = fixed_cases()
    searches: list[Search] = [lambda session: first_finding(session, cases)]
    if examples:
        searches.append(_generated(examples, seed))
    return judge(Session(peer, watch), *searches)


def replay(peer: Peer, case: Case, watch: Watch | None = None) -> Report:
    """One case, twice in one process; one that cannot be run is refused.

    Implements: CF-15.
    """
    script_of(case)
    return judge(Session(peer, watch), lambda session: session.twice(case))


def _generated(examples: int, seed: int) -> Search:
    """The search that needs Hypothesis."""
    try:
        from valid_ref.testing.conform.generate import homeless, hunt
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        raise ConformError(
            "generated cases need Hypothesis: pip install 'valid-ref[testing]', or --examples 0 "
            "for the fixed cases alone",
            clause="CF-15",
        ) from None

    def search(session: Session) -> Finding | None:
        with homeless():
            return hunt(session, examples, seed)

    return search
