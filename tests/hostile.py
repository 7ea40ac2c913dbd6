"""Objects that lie, change, raise or never end: what a Byzantine agent of this process may say."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from hypothesis import strategies as st

from valid_ref.protocols.learn import LearningMessage
from valid_ref.wide import WideIntegers
from valid_ref.words import Again, Listed, Malformed


class Refuses(Exception):  # noqa: N818 - not an error of anybody's code
    """What hostile code raises."""


def refuse(*_: object, **__: object) -> Any:
    raise Refuses


class Alternating(int):
    """Another number every second time it is asked."""

    asked = 0

    def _turn(self) -> int:
        self.asked += 1
        return int.__add__(self, self.asked % 2)

    def __eq__(self, other: object) -> bool:
        return self._turn() == other

    def __hash__(self) -> int:
        return hash(self._turn())

    def __int__(self) -> int:
        return self._turn()

    __index__ = __int__


class AlternatingTuple(tuple):
    """Another tuple every second time it is asked."""

    asked = 0

    def __iter__(self) -> Iterator[Any]:
        type(self).asked += 1
        return iter([entry + type(self).asked % 2 for entry in tuple.__iter__(self)])

    def __eq__(self, other: object) -> bool:
        return tuple(self) == other

    __hash__ = tuple.__hash__


class AlternatingDict(dict):
    """Empty every second time it is asked."""

    asked = 0

    def items(self) -> Any:
        type(self).asked += 1
        return dict.items(self) if type(self).asked % 2 else {}.items()


class LyingArray(np.ndarray):
    """Small wherever somebody looks, and it says that it is read-only."""

    flags = property(lambda _self: type("Flags", (), {"writeable": False}))

    def max(self, *_: object, **__: object) -> int:  # type: ignore[override]
        return 0

    def min(self, *_: object, **__: object) -> int:  # type: ignore[override]
        return 0

    def tolist(self) -> list[int]:  # type: ignore[override]
        return [0] * self.size


class Raising:
    """Raises whatever it is asked."""

    __class__ = property(refuse)
    __eq__ = __hash__ = __len__ = __iter__ = __bool__ = __repr__ = __str__ = refuse
    __getattr__ = __getattribute__ = __getitem__ = __int__ = __index__ = refuse


class RaisingClass(type):
    """A class that raises when it is compared, hashed or asked for its name."""

    __eq__ = __hash__ = __instancecheck__ = __repr__ = refuse
    __name__ = property(refuse)


class OfRaisingClass(metaclass=RaisingClass):
    """An ordinary object otherwise."""


class RaisingTuple(tuple):
    """A tuple that cannot be looked at."""

    __len__ = __iter__ = __eq__ = __getitem__ = __repr__ = refuse
    __hash__ = tuple.__hash__


class RaisingMapping(Mapping):
    """A mapping that cannot be looked at."""

    __len__ = __iter__ = __getitem__ = items = refuse


class KeyOfAnother:
    """A key that is found where another one is."""

    def __init__(self, other: object) -> None:
        self.other = other

    def __hash__(self) -> int:
        return hash(self.other)

    def __eq__(self, _other: object) -> bool:
        return True


class SaysItIs:
    """An object that passes for one of another class."""

    def __init__(self, kind: type) -> None:
        self._kind = kind

    @property
    def __class__(self) -> type:
        return self._kind

    __bool__ = refuse


def nested(levels: int, width: int = 1) -> tuple[Any, ...]:
    """Few objects, and width^levels numbers."""
    found: tuple[Any, ...] = (1,)
    for _ in range(levels):
        found = (found,) * width
    return found


def endless() -> dict[object, object]:
    """A mapping in itself."""
    found: dict[object, object] = {}
    found[0, "key"] = found
    return found


def over_bytearray(memory: bytearray) -> Any:
    """A read-only array over memory that can be written."""
    array = np.frombuffer(memory, np.int64)
    array.setflags(write=False)
    return array


def array_of_objects() -> Any:
    """numpy asks the objects nothing if they are put in one by one."""
    array = np.empty(2, dtype=object)
    array[0], array[1] = 1, Raising()
    return array


def of_raising_class() -> object:
    """Not the class itself, which cannot even be hashed."""
    return OfRaisingClass()


def of_raising_key() -> object:
    return OfRaisingKey()


def lying(values: list[int]) -> Any:
    return np.array(values, np.int64).view(LyingArray)


ODD: Mapping[str, Callable[[], object]] = MappingProxyType(
    {
        "alternating int": lambda: Alternating(5),
        "alternating tuple": lambda: AlternatingTuple((1,) * 12),
        "alternating dict": lambda: AlternatingDict({(2, "key"): 5}),
        "lying array": lambda: lying([2**62, 2**62]),
        "raising object": Raising,
        "object of a raising class": of_raising_class,
        "raising tuple": lambda: RaisingTuple((1, 2)),
        "raising mapping": RaisingMapping,
        "read-only raising mapping": lambda: MappingProxyType(RaisingMapping()),
        "read-only alternating dict": lambda: MappingProxyType(AlternatingDict({(2, 1): 5})),
        "says it is a bool": lambda: SaysItIs(bool),
        "says it is a message": lambda: SaysItIs(LearningMessage),
        "large integer": lambda: 10**5000,
        "large negative integer": lambda: -(10**5000),
        "tuple of large integers": lambda: (10**5000,) * 12,
        "tuple of odd things": lambda: (1, Raising()),
        "list": lambda: [1, 2],
        "deep tuple": lambda: nested(5000),
        "wide tuple": lambda: nested(14, 1000),
        "endless": endless,
        "class": lambda: OfRaisingClass,
        "set": lambda: {1},
        "float": lambda: float("nan"),
        "half a message": lambda: object.__new__(LearningMessage),
        "half wide integers": lambda: object.__new__(WideIntegers),
        "wide integers of no form": lambda: WideIntegers(np.zeros(3, np.uint64)),
        "wide integers without limbs": lambda: WideIntegers(np.zeros((3, 0), np.uint64)),
        "wide integers of lists": lambda: WideIntegers([[1]]),
        "huge array": lambda: np.broadcast_to(np.int64(0), (1 << 40,)),
        "no array": lambda: np.zeros((0, 3), np.int64),
        "array of objects": array_of_objects,
        "array of large integers": lambda: np.array([10**5000, 1], dtype=object),
        "listed": lambda: Listed(({(2, "key"): 1}, {(2, "key"): Raising()})),
        "listed odd": lambda: Listed([Raising()]),
        "malformed odd": lambda: Malformed(Raising()),
        "text": lambda: "\ud800\x1b" * 100,
    }
)
"""Makers of objects, by what they are; every call makes a new one."""

VECTORS: Mapping[str, Callable[[], object]] = MappingProxyType(
    {
        "alternating entries": lambda: np.array([Alternating(1), 2], dtype=object),
        "over a bytearray": lambda: over_bytearray(bytearray(16)),
        "of another order": lambda: np.array([1, 2], ">i8"),
        "matrix": lambda: np.zeros((2, 1), np.int64),
        "every second": lambda: np.arange(4)[::2],
    }
)


def odd_things() -> st.SearchStrategy[Callable[[], object]]:
    """Makers of objects that are no words, or hardly."""
    return st.sampled_from([*ODD.values()])


def learning_messages() -> st.SearchStrategy[Callable[[], object]]:
    """Makers of learning messages of odd parts."""
    odd = [make for name, make in ODD.items() if name != "huge array"]  # nobody can copy it
    parts = st.sampled_from([*VECTORS.values(), *odd, lambda: np.zeros(2, np.int64)])
    return st.tuples(parts, parts).map(lambda made: lambda: LearningMessage(made[0](), made[1]()))


def mappings(tags: list[Any], proper: list[object]) -> st.SearchStrategy[Callable[[], object]]:
    """Makers of mappings with odd keys and odd values, beside some of the proper form."""
    odd_keys: list[Callable[[], object]] = [
        lambda: KeyOfAnother(tags[0]), lambda: (float(tags[0][0]), tags[0][1]),
        lambda: (True, 0), lambda: (True, "key"), lambda: Again(tags[0], 1), lambda: None,
        lambda: Again(Raising.__name__, Alternating(1)), lambda: 10**5000,
        of_raising_key,
    ]  # fmt: skip
    keys = st.sampled_from([*(lambda tag=tag: tag for tag in tags), *odd_keys])
    values = st.sampled_from([*(lambda value=value: value for value in proper), *ODD.values()])
    entries = st.lists(st.tuples(keys, values), max_size=5)
    return entries.map(lambda made: lambda: {key(): value() for key, value in made})


class OfRaisingKey(metaclass=RaisingClass):
    """A key that can be hashed, of a class that cannot."""

    __hash__ = object.__hash__
