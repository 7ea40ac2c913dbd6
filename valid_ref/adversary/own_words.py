"""What Byzantine agents say of themselves in lean validation: by default what they really sent.

Their honest code reports its own record, which is not what an attack made them send; without this
every lie in the learning would give itself away.
"""

from collections.abc import Callable, Mapping

import attrs
import numpy as np

from valid_ref.adversary.attack import Account, Deviation, Setting, honest_neighbours
from valid_ref.machine import Adversary, CausalView, Edge, Message
from valid_ref.protocols import lean
from valid_ref.protocols.broadcast import Tag
from valid_ref.protocols.flood import SUM, TOTAL
from valid_ref.protocols.lean_stages import numbers
from valid_ref.protocols.learn import PHASE as LEARNING
from valid_ref.protocols.learn import LearningMessage, LearnModel
from valid_ref.protocols.measures import Plain
from valid_ref.protocols.memory import Memory
from valid_ref.protocols.remembered import Remembered
from valid_ref.protocols.routes import Routes
from valid_ref.protocols.valid import ValidState

Tell = Callable[[CausalView, int], Account]
"""What a Byzantine agent says of itself, from what is known after the learning."""


def what_was_sent(setting: Setting) -> Tell:
    """The account of what an agent sent to its lowest-numbered honest neighbour, or neighbour."""
    parameters, measures = setting.parameters, Remembered(setting.parameters)
    machine = LearnModel(parameters.graph, parameters.lattice, parameters.start_model)
    zero = np.zeros(parameters.lattice.dimension, dtype=np.int64)

    def tell(view: CausalView, agent: int) -> Account:
        receiver = _first_listener(setting, agent)
        rounds = (spoken for spoken in view.history if spoken.phase == LEARNING)
        heard = (spoken.on_edge(agent, receiver) for spoken in rounds)
        transcript = tuple(
            message
            if isinstance(message, LearningMessage) and machine.problem(message) is None
            else LearningMessage(zero, zero)
            for message in heard
        )
        estimate = measures.estimate(transcript)
        return Account(transcript, tuple(estimate), numbers(measures, estimate))

    return tell


def _first_listener(setting: Setting, agent: int) -> int:
    """The lowest-numbered honest neighbour; if there is none, the lowest-numbered neighbour."""
    return (*honest_neighbours(setting, agent), *setting.graph.neighbours(agent))[0]


def in_own_words(
    setting: Setting, deviation: Deviation, measures: Plain | None = None
) -> Adversary:
    """The adversary of a deviation; in lean validation agents say of themselves what they sent.

    The attack sees these words as those of honest code, and what it says instead counts.
    """
    if setting.parameters.lean is None:
        return deviation.adversary
    tell = what_was_sent(setting) if deviation.tell is None else deviation.tell
    speaker = _Speaker(setting, tell, measures or Remembered(setting.parameters))

    def adversary(view: CausalView) -> Mapping[Edge, Message]:
        words = speaker.words(view)
        shown = attrs.evolve(view, addressed={**view.addressed, **words})
        return {**words, **deviation.adversary(shown)}

    return adversary


@attrs.frozen
class _Speaker:
    """Puts the account of a Byzantine agent in place of its record, in every phase."""

    setting: Setting
    tell: Tell
    measures: Plain
    routes: Routes = attrs.field(init=False)

    @routes.default
    def _routes(self) -> Routes:
        return Routes(self.setting.graph)

    def words(self, view: CausalView) -> dict[Edge, Message]:
        """What goes over the edges of Byzantine agents whose account is not their record."""
        if view.phase not in {lean.FIX, lean.REPORT, lean.COMPARE}:
            return {}
        found: dict[Edge, Message] = {}
        for agent in sorted(view.byzantine):
            state = view.byzantine_states[agent]
            if isinstance(state, ValidState):
                edges = [(agent, u) for u in view.graph.neighbours(agent)]
                found |= self._of(view, state.memory, {edge: view.on_edge(*edge) for edge in edges})
        return found

    def _of(
        self, view: CausalView, memory: Memory, usual: Mapping[Edge, Message]
    ) -> dict[Edge, Message]:
        agent, own = memory.agent, self._about_itself(memory.agent)
        told = [word for word in usual.values() if isinstance(word, Mapping)]
        if view.phase != lean.COMPARE and not any(tag in word for tag in own for word in told):
            return {}
        account = self.tell(view, agent)
        if view.phase == lean.COMPARE:
            return dict.fromkeys(usual, self._digest(view, memory, account))
        return {
            edge: {
                tag: self._instead(view, memory, account, tag, value) if tag in own else value
                for tag, value in word.items()
            }
            for edge, word in usual.items()
            if isinstance(word, Mapping)
        }

    def _about_itself(self, agent: int) -> set[Tag]:
        """The tags whose values depend on what an agent says of itself."""
        tags: set[Tag] = {(agent, lean.FIXED), (agent, lean.REPORTED), (agent, SUM)}
        return tags | ({(agent, TOTAL)} if agent == self.routes.root else set())

    def _instead(
        self, view: CausalView, memory: Memory, account: Account, tag: Tag, value: object
    ) -> object:
        if tag[1] == lean.FIXED and isinstance(value, tuple):
            return (value[0], *account.numbers)
        if tag[1] == lean.REPORTED:
            return self._report(view, account)
        own = self.measures.estimate(memory.fixed_transcripts.own)
        changes = zip(account.estimate, own, strict=True)
        difference = tuple(said - mine for said, mine in changes)
        total = value if isinstance(value, tuple) else tuple(value)  # type: ignore[arg-type]
        return self.measures.added([total, difference]) if total else total

    def _report(self, view: CausalView, account: Account) -> tuple[int, ...]:
        keys = self._keys(view)
        hashes = self.measures.report(keys, account.transcript)
        vectors = self.measures.vector_hashes(keys, account.estimate)
        return lean.report_of(self.setting.parameters, hashes, vectors)

    def _keys(self, view: CausalView) -> tuple[int, ...]:
        """The common keys of what was opened, as a neighbour of each agent heard it."""
        parameters = self.setting.parameters
        first = next(spoken for spoken in view.history if spoken.phase == lean.OPEN)
        limits, held = lean.limits_of(parameters)[lean.OPENING], dict[Tag, object]()
        for v in range(parameters.graph.agents):
            tag = v, lean.OPENING
            word = first.on_edge(v, _first_listener(self.setting, v))
            value = word.get(tag) if isinstance(word, Mapping) else None
            if lean.is_flooded(limits, value):
                held[tag] = value
        return lean.common_keys(parameters, held)

    def _digest(self, view: CausalView, memory: Memory, account: Account) -> int:
        """The digest of what the agent holds, with what it said of itself."""
        fixed: Tag = (memory.agent, lean.FIXED)
        own: dict[Tag, object] = {
            fixed: (memory.held[fixed][0], *account.numbers),
            (memory.agent, lean.REPORTED): self._report(view, account),
        }
        return lean.digest(self.setting.parameters, {**memory.held, **own})
