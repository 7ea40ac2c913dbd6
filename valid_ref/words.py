"""Words: what can be said, and the one form in which everybody hears it.

A Byzantine agent of this process may say any object, also one that changes or lies about what it
is. The network therefore makes a word of exact types and of its own bytes out of it, before
anybody looks. Nothing here runs code of such an object: types are read off it, never asked of it.
"""

import gc
import operator
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType, MappingProxyType
from typing import Any, TypeVar

import attrs
import numpy as np

from valid_ref.lattice import IntVector
from valid_ref.wide import WideIntegers, in_own_bytes, unchanging

Message = object
"""What is said in a round; None is silence. Anything else may come from a Byzantine agent."""

PlaceT = TypeVar("PlaceT")

LARGEST_BITS = 4096
"""An integer of more bits is no word."""
LARGEST_SIZE = 1 << 26
"""A word with more numbers and characters than this is none."""
DEEPEST = 16
"""A word nested deeper than this is none; honest messages are flat."""
TEXT_LENGTH = 80
"""Characters of the text that is kept of a message of no admitted form."""


# The classes of words, all frozen.


@attrs.frozen(eq=False)
class LearningMessage:
    """(x_v(t), Gamma_v(t)): the model and the scaled gradient of one round, read-only (LM-5)."""

    model: IntVector = attrs.field(converter=unchanging)
    scaled_gradient: IntVector = attrs.field(converter=unchanging)


@attrs.frozen
class Listed:
    """A broadcast message as a list of entries, in which a tag may stand twice: not a mapping."""

    parts: tuple[Mapping[Any, object], ...]


@attrs.frozen
class Again:
    """In a mapping, the key of a further entry of a tag that is not public."""

    tag: object
    number: int


@attrs.frozen
class Malformed:
    """What is heard, or read, in place of a message or a value of no admitted form.

    No phase admits it. The text is for people.

    Implements: MO-13.
    """

    text: str = ""


# The canonical form.


class _NoWordError(Exception):
    """This object, or a part of it, is no word; the reason."""


def canonical(word: object, shown: "Shown | None" = None) -> Message:
    """The word that everybody hears when a Byzantine agent says this object.

    None, and exactly bool, int, float, str: themselves. Exactly tuple: of canonical entries.
    Exactly dict or a read-only mapping over one: a read-only mapping of its own. int64 arrays,
    `WideIntegers` and learning messages: over bytes of their own. All else is `Malformed`.
    A copy of a word that was shown is that word again.

    Implements: MO-13, AD-4.
    """
    return _Reader({} if shown is None else shown).read(word)


Shown = Mapping[int, tuple[object, Message]]
"""By the identity of a copy that an adversary was shown: the copy, and the word itself."""


@attrs.frozen
class _Reader:
    """Reads one word; an object that stands in it several times is read once for each depth."""

    shown: Shown
    known: dict[tuple[int, int], tuple[object, int]] = attrs.field(init=False, factory=dict)

    def read(self, word: object) -> Message:
        """The canonical form, or what stands for none."""
        return self._sized(word, 0)[0]

    def _sized(self, word: object, depth: int) -> tuple[object, int]:
        try:
            return self._word(word, depth)
        except _NoWordError as reason:
            return Malformed(str(reason)), 1

    def _word(self, word: object, depth: int) -> tuple[object, int]:
        """The canonical form and its size.

        Whatever is read here is kept by what holds it, so that an identity is one object's.
        """
        if id(word) in self.shown:
            return self.shown[id(word)][1], 1
        # By identity: the class of a class may have a hash or an equality of its own.
        kind = id(type(word))
        if kind in _SCALARS:
            return word, _SCALARS[kind](word)
        if kind not in _FORMS:
            raise _NoWordError(_name(type(word)))
        if depth > DEEPEST:
            raise _NoWordError("nested too deeply")
        place = id(word), depth
        if place not in self.known:
            found, size = _FORMS[kind](self, word, depth)
            if size > LARGEST_SIZE:
                raise _NoWordError("too large")
            self.known[place] = found, size
        return self.known[place]

    def _tuple(self, word: tuple[object, ...], depth: int) -> tuple[object, int]:
        """A tuple is a word if all its entries are."""
        if {*map(id, map(type, word))} <= {id(int)}:
            if word and max(map(int.bit_length, word)) > LARGEST_BITS:  # type: ignore[arg-type]
                raise _NoWordError("an integer of too many bits")
            return word, len(word)
        parts = [self._word(entry, depth + 1) for entry in word]
        return tuple(part for part, _size in parts), sum(size for _part, size in parts)

    def _mapping(self, word: Mapping[object, object], depth: int) -> tuple[object, int]:
        """Of a mapping, the keys and values that are no words are malformed ones."""
        inside: object = word
        for _ in range(DEEPEST):
            if type(inside) is MappingProxyType:
                (inside,) = gc.get_referents(inside)  # asks the mapping inside nothing
        if type(inside) is not dict:
            raise _NoWordError(_name(type(inside)))
        found, total = dict[object, object](), 0
        for key, value in [*dict.items(inside)]:
            part, size = self._sized(value, depth + 1)
            found[self._key(key, depth + 1)] = part
            total += size
        return MappingProxyType(found), total

    def _key(self, key: object, depth: int) -> object:
        """Integers, texts and tuples of them; True is not 1 here, though a mapping finds it so."""
        try:
            return self._tag(key, depth)
        except _NoWordError as reason:
            return Malformed(str(reason))

    def _tag(self, key: object, depth: int) -> object:
        if type(key) is tuple and depth <= DEEPEST:
            return tuple(self._tag(part, depth + 1) for part in key)
        if type(key) is Again and depth <= DEEPEST:
            return Again(self._tag(_field(key, "tag"), depth + 1), _number(_field(key, "number")))
        if type(key) is str:
            return key
        return _number(key)

    def _array(self, word: np.ndarray[Any, Any], _depth: int) -> tuple[object, int]:
        """Integers of 64 bits as they are; a vector of larger ones as a tuple of them."""
        if word.size > LARGEST_SIZE:
            raise _NoWordError("too large")
        if word.dtype == np.int64:
            return in_own_bytes(word), word.size
        if word.dtype == np.object_ and word.ndim == 1:
            return self._tuple(tuple(_number(entry) for entry in word.tolist()), 0)
        raise _NoWordError("array of another type of numbers")

    def _wide(self, word: WideIntegers, _depth: int) -> tuple[object, int]:
        words = _field(word, "words")
        if type(words) is not np.ndarray or words.dtype != np.uint64 or words.ndim != 2:
            raise _NoWordError("integers of another form")
        entries, limbs = words.shape
        if not 1 <= limbs <= LARGEST_BITS // 64 or entries * limbs > LARGEST_SIZE:
            raise _NoWordError("integers of too many bits")
        return WideIntegers(in_own_bytes(words)), entries * limbs

    def _learning(self, word: LearningMessage, depth: int) -> tuple[object, int]:
        parts = [_field(word, name) for name in ("model", "scaled_gradient")]
        model, gamma = (self._sized(part, depth + 1) for part in parts)
        return LearningMessage(model[0], gamma[0]), model[1] + gamma[1]

    def _listed(self, word: Listed, depth: int) -> tuple[object, int]:
        parts = _field(word, "parts")
        if type(parts) is not tuple or not all(
            type(part) is dict or type(part) is MappingProxyType for part in parts
        ):
            raise _NoWordError("list of another form")
        found = [self._word(part, depth + 1) for part in parts]
        return Listed(tuple(part for part, _size in found)), sum(size for _part, size in found)  # type: ignore[misc]

    def _malformed(self, word: Malformed, _depth: int) -> tuple[object, int]:
        text = _field(word, "text")
        return Malformed(_text(text) if type(text) is str else ""), 1


_SCALARS: Mapping[int, Callable[[Any], int]] = MappingProxyType(
    {
        id(type(None)): lambda _: 0,
        id(bool): lambda _: 1,
        id(float): lambda _: 1,
        id(int): lambda number: len((_number(number),)),
        id(str): lambda text: 1 + len(text),
    }
)
"""By the identity of their class: the words without parts, and their sizes."""

_FORMS: Mapping[int, Callable[[_Reader, Any, int], tuple[object, int]]] = MappingProxyType(
    {
        id(tuple): _Reader._tuple,
        id(dict): _Reader._mapping,
        id(MappingProxyType): _Reader._mapping,
        id(np.ndarray): _Reader._array,
        id(WideIntegers): _Reader._wide,
        id(LearningMessage): _Reader._learning,
        id(Listed): _Reader._listed,
        id(Malformed): _Reader._malformed,
    }
)
"""By the identity of their class: the words with parts, and how each is read."""


def _number(value: object) -> int:
    if type(value) is not int:
        raise _NoWordError(_name(type(value)))
    if value.bit_length() > LARGEST_BITS:
        raise _NoWordError("an integer of too many bits")
    return value


def _field(word: object, name: str) -> object:
    """A field of an object of one of the classes above, which may never have been set."""
    try:
        return object.__getattribute__(word, name)
    except AttributeError:
        raise _NoWordError(f"{_name(type(word))} without {name}") from None


def _name(kind: type) -> str:
    """The name of a class, whatever its own class says that it is."""
    return _text(type.__dict__["__name__"].__get__(kind))


def _text(text: str) -> str:
    return str.encode(text, "ascii", "replace")[:TEXT_LENGTH].decode()


# What an adversary is shown.


@attrs.frozen(eq=False)
class Border:
    """What passes between a network and the adversary of one run: copies, both ways.

    A thing is copied once, and kept beside its copy, so that no other gets its identity; copies
    of states that the next round does not have any more are forgotten.

    Implements: MO-13, AD-4.
    """

    _words: "_Copies" = attrs.field(init=False, factory=dict)
    _states: "_Copies" = attrs.field(init=False, factory=dict)
    _shown: dict[int, tuple[object, Message]] = attrs.field(init=False, factory=dict)

    def words(self, said: Mapping[PlaceT, Message]) -> Mapping[PlaceT, Message]:
        """Copies of what was said in a round, by agent or by edge."""
        shown = {place: self._copied(word, self._words) for place, word in said.items()}
        for place, word in said.items():
            self._shown[id(shown[place])] = shown[place], word
        return MappingProxyType(shown)

    def states(self, states: Mapping[int, object]) -> Mapping[int, object]:
        """Copies of states, by agent."""
        copies: _Copies = {}
        shown = {agent: self._copied(state, copies) for agent, state in states.items()}
        self._states.clear()
        self._states.update(copies)
        return MappingProxyType(shown)

    def hear(self, said: Mapping[PlaceT, object]) -> Mapping[PlaceT, Message]:
        """What is heard of an adversary; an object that is said several times is one word."""
        words = {id(word): canonical(word, self._shown) for word in said.values()}
        return MappingProxyType({place: words[id(word)] for place, word in said.items()})

    def _copied(self, thing: object, copies: "_Copies") -> object:
        """A copy that shares nothing which can be changed.

        Frozen objects, tuples, mappings and arrays are copied; numbers and functions are shared.
        """
        if self._known(thing, copies):
            return _copy_of(thing, copies)
        waiting, begun = [thing], set[int]()
        while waiting:
            begun.add(id(waiting[-1]))
            parts = [
                part
                for part in _parts(waiting[-1])
                if not self._known(part, copies) and id(part) not in begun
            ]
            if parts:
                waiting += parts
            else:
                self._keep(waiting.pop(), copies)
        return _copy_of(thing, copies)

    def _known(self, part: object, copies: "_Copies") -> bool:
        """Whether it needs no copy, or there is one; a copy in use is not forgotten."""
        place = id(part)
        if type(part) in _SHARED or place in copies:
            return True
        found = self._words.get(place) or self._states.get(place)
        if found is not None:
            copies[place] = found
        return found is not None

    def _keep(self, thing: object, copies: "_Copies") -> None:
        copy = _rebuilt(thing, copies)
        copies[id(thing)] = thing, copy
        if type(copy) is LearningMessage or type(copy) is WideIntegers:
            self._shown[id(copy)] = copy, thing


_Copies = dict[int, tuple[object, object]]
"""By the identity of a thing: the thing and its copy."""


_SHARED = frozenset({type(None), bool, int, float, str, bytes, FunctionType})
"""What is not copied: it cannot be changed, or it is not data."""


def _copy_of(part: object, copies: _Copies) -> object:
    found = copies.get(id(part))
    return part if found is None else found[1]


def _parts(thing: Any) -> Iterable[object]:
    """What a copy of it copies too."""
    kind = type(thing)
    if kind is tuple or kind is list:
        items: Iterable[object] = thing
        return items
    if kind is dict or kind is MappingProxyType:
        entries: Iterable[object] = thing.values()
        return entries
    return [getattr(thing, name) for name in _fields(thing)]


def _rebuilt(thing: Any, copies: _Copies) -> object:
    """The same with copies of its parts."""
    kind = type(thing)
    if isinstance(thing, np.ndarray) and kind is np.ndarray and not thing.dtype.hasobject:
        return in_own_bytes(thing)
    if kind is tuple or kind is list:
        parts = [_copy_of(part, copies) for part in thing]
        same = kind is tuple and all(map(operator.is_, parts, thing))
        return thing if same else kind(parts)
    if kind is dict or kind is MappingProxyType:
        entries = thing.items()
        return MappingProxyType({key: _copy_of(value, copies) for key, value in entries})
    names = _fields(thing)
    if not names:
        return thing
    copy = object.__new__(kind)
    for name in names:
        object.__setattr__(copy, name, _copy_of(getattr(thing, name), copies))
    return copy


def _fields(thing: object) -> tuple[str, ...]:
    """The fields of an object of a class that has any."""
    return tuple(field.name for field in getattr(type(thing), "__attrs_attrs__", ()))
