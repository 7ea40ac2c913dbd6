"""Coins: 32 secret bytes from which keys, mini-batches and noise are made, by SHA-256 alone.

Every use has a name of its own, and a use does not lead back: whoever holds a child can compute
neither its parent nor another child, as long as SHA-256 cannot be inverted.
"""

import hashlib
import re
import secrets
from typing import Any

import attrs
import numpy as np
from numpy.random.bit_generator import ISeedSequence

from valid_ref.errors import ValidRefError

FORMAT = b"valid-ref/coins/1"
SIZE = 32
"""How many secret bytes there are."""

LARGEST_LIMIT = 1 << 128
"""Integers are drawn below at most this: reduced from 256 bits, they are uniform up to 2^-128."""

HEXADECIMAL = re.compile("[0-9a-f]{64}")


class CoinsError(ValidRefError):
    """Coins of a wrong form, or asked for something that they do not give."""


@attrs.frozen
class Coins:
    """Secret bytes; equal coins give equal values for equal names, on every machine.

    The bytes are kept out of `repr`, so that no message or log shows them.

    Implements: LV-3.
    """

    secret: bytes = attrs.field(repr=False)

    def __attrs_post_init__(self) -> None:
        if type(self.secret) is not bytes or len(self.secret) != SIZE:
            raise CoinsError(f"coins are not {SIZE} bytes", clause="LV-3")

    @classmethod
    def of_text(cls, domain: str, text: str) -> "Coins":
        """The coins of a text: as secret as the text is.

        Implements: LV-3.
        """
        return cls(_digest(FORMAT, domain, text.encode()))

    @classmethod
    def of_seed(cls, seed: int) -> "Coins":
        """The coins of a seed, for simulations that have nothing else."""
        return cls(_digest(FORMAT, "seed", _number(seed)))

    def child(self, domain: str, *numbers: int) -> "Coins":
        """Other coins, one for every domain and every list of numbers from 0 on.

        Implements: LV-3.
        """
        return Coins(_digest(self.secret, domain, *map(_number, numbers)))

    def integer_below(self, limit: int, domain: str, *numbers: int) -> int:
        """An integer from 0 to limit - 1.

        256 bits modulo the limit: over uniform coins no set of values is more than limit / 2^256,
        hence 2^-128, more or less likely than among uniform integers.

        Implements: LV-3.
        """
        if not 1 <= limit <= LARGEST_LIMIT:
            raise CoinsError(f"an integer below {limit}: not within 1..2^128", clause="LV-3")
        return int.from_bytes(self.child(domain, *numbers).secret) % limit

    def generator(self, domain: str, *numbers: int) -> np.random.Generator:
        """A generator of its own for every domain and every list of numbers.

        PCG64 whose state is the child: whoever works its state out from what it shows still
        knows nothing of the generators of other numbers.

        Implements: LV-3, AD-3.
        """
        # numpy takes any ISeedSequence; its stubs know of SeedSequence alone.
        words: Any = _Words(_digest(self.secret, domain, *map(_number, numbers)))
        return np.random.Generator(np.random.PCG64(words))


def fresh() -> str:
    """Coins that nobody knows, as 64 hexadecimal digits: the only place that draws any.

    Implements: LV-3.
    """
    return secrets.token_hex(SIZE)


def check_hexadecimal(text: str) -> None:
    """Refuse what is not 64 hexadecimal digits in small letters.

    Implements: VA-6.
    """
    if type(text) is not str or HEXADECIMAL.fullmatch(text) is None:
        raise CoinsError("coins are not 64 of the digits 0-9 and a-f", clause="VA-6")


class _Words(ISeedSequence):
    """The bytes of a digest as the first state of a generator, as they are."""

    def __init__(self, digest: bytes) -> None:
        self.digest = digest

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> np.ndarray:
        """The first words; numpy's PCG64 asks for four of 64 bits."""
        kind = np.dtype(dtype)
        return np.frombuffer(self.digest, kind.newbyteorder("<"), n_words).astype(kind, copy=False)


def _digest(secret: bytes, domain: str, *parts: bytes) -> bytes:
    """SHA-256 of the parts, each after its length: different lists never give one text."""
    pieces = (secret, domain.encode(), *parts)
    framed = b"".join([len(piece).to_bytes(8) + piece for piece in pieces])
    return hashlib.sha256(framed).digest()


def _number(number: int) -> bytes:
    if number < 0:
        raise CoinsError(f"{number} is negative", clause="LV-3")
    return int(number).to_bytes((int(number).bit_length() + 7) // 8)
