"""What an adversary is given leads to no honest key, no honest sample, and no seed."""

import gc
import types
from collections.abc import Callable, Iterator, Mapping

import attrs
import numpy as np
import pytest

from tests.valid_ref.adversary.test_catalogue import setting_for
from valid_ref.adversary.attack import AttackError, Setting
from valid_ref.adversary.catalogue import ATTACKS
from valid_ref.coins import Coins
from valid_ref.execution import execute
from valid_ref.losses import Noise, Problem
from valid_ref.losses.problem import MINI_BATCHES
from valid_ref.machine import Adversary, CausalView, Edge, Message
from valid_ref.protocols.lean import OPEN, Opening
from valid_ref.protocols.valid import KEYS
from valid_ref.scenario import Scenario, parts, prepare
from valid_ref.scenario.build import Prepared
from valid_ref.scenario.scenario import run_coins, sample_coins

SEED = 918273645546372819
HEXADECIMAL = "5a" * 32
NOISY = parts.RandomQuadratics(2, noise=Noise.SIGNS, spread=0.5)
SKIPPED = (type, types.ModuleType, types.FrameType, types.BuiltinFunctionType)


def reachable(*roots: object) -> Iterator[object]:
    """Everything that these objects hold: fields, containers, cells, defaults, bound selves.

    Modules, classes and the globals of functions are left out: code is public.
    """
    seen: dict[int, object] = {}
    waiting = [*roots]
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, SKIPPED):
            continue
        seen[id(one)] = one
        yield one
        if isinstance(one, types.FunctionType):
            cells = [cell.cell_contents for cell in one.__closure__ or ()]
            waiting += [*cells, one.__defaults__, one.__kwdefaults__, one.__dict__]
        else:
            waiting += gc.get_referents(one)


def test_the_walk_finds_what_is_hidden() -> None:
    secret = Coins.of_seed(77)
    bound = types.MethodType(lambda self: self, [secret])

    def closure() -> object:
        return bound

    def default(kept: object = types.MappingProxyType({"x": (closure,)})) -> object:
        return kept

    assert secret in [*reachable([default])]


def secret_numbers(key: int | Opening) -> tuple[int, ...]:
    """The key; of lean validation the nonce and the shares that are large enough to be told."""
    if isinstance(key, int):
        return (key,)
    return tuple(number for number in key.value if number > 2**32)


class Secrets:
    """Of one run: what no object within the adversary's reach may be, hold or lead to."""

    def __init__(self, prepared: Prepared) -> None:
        scenario, problem = prepared.scenario, prepared.problem
        self.prime, self.byzantine = prepared.parameters.field.prime, prepared.byzantine
        self.honest = [v for v in prepared.private if v not in prepared.byzantine]
        self.keys = {key for v in self.honest for key in secret_numbers(prepared.private[v].key)}
        self.objects = [prepared.private[v] for v in self.honest]
        self.objects += [prepared.private[v].gradient for v in self.honest]
        self.objects += [scenario, prepared, problem]
        self.roots = {run_coins(scenario).secret, sample_coins(scenario).secret}
        self.samples = {problem.own_coins(v).secret for v in self.honest}
        self.texts = {secret.hex() for secret in self.roots | self.samples}

    def check(self, roots: object, *, keys_known: bool) -> int:
        """Look at everything; how many coins there were."""
        hidden = {id(one) for one in self.objects}
        found = 0
        for one in reachable(roots):
            assert id(one) not in hidden, one
            if isinstance(one, Coins):
                found += 1
                self.check_coins(one)
            elif isinstance(one, Problem):
                assert one.coins is None
            elif isinstance(one, int):
                assert one != SEED
                assert keys_known or one not in self.keys
            elif isinstance(one, bytes | str):
                text = one if isinstance(one, str) else one.hex()
                assert HEXADECIMAL not in text
                assert text not in self.texts
            elif isinstance(one, np.ndarray) and one.dtype.kind in "iu":
                assert keys_known or not self.keys & {*one.ravel().tolist()}
        return found

    def check_coins(self, coins: Coins) -> None:
        assert coins.secret not in self.roots | self.samples
        for agent in self.honest:
            assert coins.integer_below(self.prime, "key", agent) not in self.keys
            nonce = coins.child("opening", agent).child("nonce").secret
            assert int.from_bytes(nonce) not in self.keys
            assert coins.child(MINI_BATCHES, agent).secret not in self.samples


def scenarios(kind: str) -> list[Scenario]:
    noisy = attrs.evolve(setting_for(kind), loss=NOISY, seed=SEED)
    return [noisy, attrs.evolve(noisy, seed=None, coins=HEXADECIMAL)]


def spying(prepared: Prepared, secrets: Secrets, phases: list[str]) -> Adversary:
    def adversary(view: CausalView) -> Mapping[Edge, Message]:
        phases.append(view.phase)
        secrets.check([view, prepared.adversary], keys_known=not {KEYS, OPEN}.isdisjoint(phases))
        return prepared.adversary(view)

    return adversary


@pytest.mark.checks("AD-3", "LV-3")
@pytest.mark.parametrize("kind", ATTACKS)
def test_no_attack_reaches_an_honest_key_or_sample(kind: str) -> None:
    for scenario in scenarios(kind):
        prepared = prepare(scenario)
        secrets = Secrets(prepared)
        # Nothing is known before the first round, and nobody's future samples in any other.
        assert secrets.check(prepared.adversary, keys_known=False) <= 1 + len(prepared.byzantine)
        phases: list[str] = []

        execute(
            prepared.parameters,
            prepared.private,
            byzantine=prepared.byzantine,
            adversary=spying(prepared, secrets, phases),
        )
        assert not {KEYS, OPEN}.isdisjoint(phases)


@pytest.mark.checks("AD-3")
def test_the_setting_of_an_attack_has_no_honest_samples() -> None:
    prepared = prepare(scenarios("gaussian")[0])
    coins = run_coins(prepared.scenario).child("attack")
    setting = Setting.of(
        prepared.parameters, prepared.problem, prepared.byzantine, prepared.delta, coins
    )
    count = Secrets(prepared).check(setting, keys_known=False)
    assert count == 1 + len(prepared.byzantine)  # of the attack, and of each agent's own samples
    with pytest.raises(AttackError, match="agent 0's samples are not the adversary's"):
        setting.gradient_source(0)
    point = np.zeros(2)
    for agent in prepared.byzantine:
        own, true = setting.gradient_source(agent), prepared.private[agent].gradient
        assert all((own(t, point) == true(t, point)).all() for t in range(1, 20))


def leaks(prepared: Prepared) -> list[tuple[str, Callable[[], object]]]:
    problem, coins = prepared.problem, run_coins(prepared.scenario)
    return [
        ("the scenario", lambda: prepared.scenario),
        ("the problem", lambda: [problem]),
        ("an honest source", lambda: {"x": prepared.private[0].gradient}),
        ("an honest key", lambda: (prepared.private[0].key,)),
        ("a key in an array", lambda: np.array([1, prepared.private[0].key])),
        ("the coins of all samples", lambda: Coins(problem.coins.secret)),
        ("the coins of keys", lambda: Coins(coins.secret)),
        ("the coins of an honest agent", lambda: problem.own_coins(0)),
        ("bytes", lambda: coins.secret),
        ("the seed", lambda: [SEED + 0]),
    ]


@pytest.mark.checks("AD-3")
@pytest.mark.parametrize("number", range(10))
def test_a_leak_is_noticed(number: int) -> None:
    prepared = prepare(scenarios("gaussian")[0])
    _name, made = leaks(prepared)[number]
    leaked = made()
    with pytest.raises(AssertionError):
        Secrets(prepared).check(lambda: leaked, keys_known=False)
