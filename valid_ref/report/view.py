"""The view: a versioned document with everything a report page shows of one or more runs.

Every class here is plain data; `as_json` gives what the page reads. A message has an index into
the table `messages`; two messages have the same index exactly if they are equal.
"""

from typing import Any

import attrs

from valid_ref.document import unstructure

FORMAT = "valid-ref/view/2"


@attrs.frozen
class AgentView:
    """Where an agent stands, what it is, and how it ended."""

    role: str
    x: float
    y: float
    verdict: str
    end: str


@attrs.frozen
class PhaseView:
    """A phase of the protocol: its rounds are `first` .. `first + rounds - 1`, from 0."""

    name: str
    title: str
    about: str
    first: int
    rounds: int


@attrs.frozen
class MessageView:
    """A message: a word for an edge (may be empty), and a sentence."""

    word: str
    text: str


@attrs.frozen
class EdgeWord:
    """What went over one directed edge in place of what the sender says to all.

    `fits` is whether a learning message follows from its gradient and what its sender received;
    None where that cannot be said.
    """

    sender: int
    receiver: int
    message: int
    fits: bool | None = None


@attrs.frozen
class MessageRef:
    """A message: its round in the whole run, and its edge."""

    index: int
    sender: int
    receiver: int


@attrs.frozen
class DeviationView:
    """What one agent says in one phase in place of what honest code says, and what came of it.

    `about` says in words what can see it; `alarms` are places in the list of alarms, and
    `divergence` the place in the list of divergences if the oracle found it.
    """

    sender: int
    phase: int
    first: int
    last: int
    rounds: int
    message: MessageRef
    receivers: tuple[int, ...]
    kind: str
    about: str
    alarms: tuple[int, ...]
    divergence: int | None


@attrs.frozen
class RoundView:
    """One round: what each agent says to all, what was said on single edges, what each believes.

    `index` is the number of the round in the whole run, from 0.
    """

    index: int
    phase: int
    number: int
    said: tuple[int, ...]
    edges: tuple[EdgeWord, ...]
    beliefs: tuple[str, ...]


@attrs.frozen
class AlarmView:
    """Alarms of one agent with one reason in one round; `count` of them, and what about.

    `cause` is the message that they come from and `deviations` the places of those behind them;
    `why` says what they come from where nothing deviates.
    """

    agent: int
    reason: str
    meaning: str
    clause: str
    phase: str
    round: int
    index: int
    sender: int | None
    about: str
    count: int
    cause: MessageRef | None
    deviations: tuple[int, ...]
    why: str


@attrs.frozen
class StatisticView:
    """One statistic of GlobalValidate: its course, its final value as checked, its threshold."""

    name: str
    title: str
    course: tuple[float | None, ...]
    final: float | None
    threshold: float
    clause: str


@attrs.frozen
class SeriesView:
    """The course of learning over these rounds; distances are absent where no loss is known."""

    rounds: tuple[int, ...]
    goal: str
    distance: tuple[float | None, ...] | None
    distances: tuple[tuple[float | None, ...], ...] | None
    consensus: tuple[float | None, ...]
    statistics: tuple[StatisticView, ...]


@attrs.frozen
class CheckCell:
    """A failed check of the hashes of `agent` under the key of `owner`; by how many agents.

    `lies` are the agents whose lies it depends on.
    """

    agent: int
    owner: int
    failed: tuple[str, ...]
    by: int
    lies: tuple[int, ...]


@attrs.frozen
class ReportCell:
    """What `reporter` says about `agent`: a letter per distinct report, several if it differs."""

    agent: int
    reporter: int
    letters: str


@attrs.frozen
class ChecksView:
    """The checks of LocalValidate as matrices; `checkers` is how many agents made each check."""

    agents: tuple[int, ...]
    owners: tuple[int, ...]
    checkers: int
    failures: tuple[CheckCell, ...]
    reports: tuple[ReportCell, ...]


@attrs.frozen
class CostView:
    """What a phase cost."""

    phase: str
    rounds: int
    messages: int
    scalars: int


@attrs.frozen
class Evidence:
    """One condition of an outcome, whether it holds ("yes", "no", "open"), and the figures."""

    condition: str
    holds: str
    figures: str


@attrs.frozen
class OutcomeView:
    """The outcome, its meaning, and the evidence; `tone` is "good", "bad" or "open"."""

    outcome: str
    tone: str
    meaning: str
    evidence: tuple[Evidence, ...]


@attrs.frozen
class DivergenceView:
    """Where a recorded agent leaves the specification; `receiver` if on one edge alone.

    `said` is whether a message is wrong; if not, an alarm, the verdict or the model is.
    """

    agent: int
    index: int
    receiver: int | None
    said: bool
    where: str
    what: str
    clause: str
    agreed: str
    expected: str
    found: str


@attrs.frozen
class RunView:
    """Everything the page shows of one run."""

    label: str
    facts: tuple[tuple[str, str], ...]
    agents: tuple[AgentView, ...]
    edges: tuple[tuple[int, int], ...]
    phases: tuple[PhaseView, ...]
    messages: tuple[MessageView, ...]
    rounds: tuple[RoundView, ...]
    total_rounds: int
    alarms: tuple[AlarmView, ...]
    series: SeriesView | None
    checks: ChecksView | None
    costs: tuple[CostView, ...]
    outcome: OutcomeView
    deviations: tuple[DeviationView, ...] = ()
    divergences: tuple[DivergenceView, ...] = ()
    notes: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()


@attrs.frozen
class ChangeView:
    """One thing that the repair changes: how it is as printed, and how it is repaired."""

    what: str
    printed: str
    repaired: str


@attrs.frozen
class StoryView:
    """An erratum for people who have not read the paper; `*_html` are from the specification."""

    erratum: str
    title: str
    severity: str
    setting: str
    wrong: str
    repair: str
    printed: tuple[str, ...]
    repaired: tuple[str, ...]
    printed_wrong: bool
    repaired_wrong: bool
    changes: tuple[ChangeView, ...]
    printed_html: str
    because_html: str
    repair_html: str


@attrs.frozen
class ClauseView:
    """A clause of the specification, as HTML without scripts."""

    identifier: str
    kind: str
    file: str
    html: str


@attrs.frozen
class TourStep:
    """A step of the guided tour: what is said, and which run, round, agent and part go with it.

    `part` is the part of the page that is pointed at: "network", "rounds", "learning", "harm",
    "checks", "alarms", "outcome", or "" for the top.
    """

    title: str
    text: tuple[str, ...]
    run: int
    index: int
    agent: int
    part: str


@attrs.frozen
class EndPoint:
    """Where an honest agent stands after the last learning round: the first entry of its model."""

    agent: int
    model: float


@attrs.frozen
class HarmSide:
    """What the same learning leads to: where agents end, and what becomes of their models."""

    title: str
    tone: str
    text: str
    ends: tuple[EndPoint, ...]


@attrs.frozen
class HarmView:
    """An attack without and with validation, beside an honest run; curves as in `SeriesView`."""

    rounds: tuple[int, ...]
    honest: tuple[float | None, ...]
    attacked: tuple[float | None, ...]
    criterion: float
    optimum: float
    text: str
    sides: tuple[HarmSide, ...]


@attrs.frozen
class PageView:
    """The document of a page; `layout` is "one", "tabs" or "beside"."""

    title: str
    subtitle: str
    layout: str
    runs: tuple[RunView, ...]
    clauses: tuple[ClauseView, ...]
    story: StoryView | None = None
    harm: HarmView | None = None
    tour: tuple[TourStep, ...] = ()
    version: str = ""
    format: str = FORMAT

    def as_json(self) -> dict[str, Any]:
        """The document as plain JSON data."""
        document: dict[str, Any] = unstructure(self)
        return document
