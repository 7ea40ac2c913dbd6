"""Values that are, or are not, of the form that a broadcast demands."""

from collections.abc import Mapping, Sequence

import attrs

from valid_ref.vectors.document import Json
from valid_ref.vectors.numbers import whole, wholes
from valid_ref.vectors.schema import INTEGER, TEXT, VECTOR, either, fields

CANDIDATE = either(
    fields(kind={"const": "integer"}, value=INTEGER),
    fields(kind={"const": "integers"}, entries=VECTOR),
    fields(kind={"const": "other"}, text=TEXT),
)


@attrs.frozen
class Candidate:
    """A value as code sees it, and what is to be said about it."""

    plain: object
    comment: str

    def as_json(self) -> Json:
        """An integer, a tuple of integers, or something else in words."""
        if type(self.plain) is int:
            return {"kind": "integer", "value": whole(self.plain)}
        if type(self.plain) is tuple and all(type(entry) is int for entry in self.plain):
            return {"kind": "integers", "entries": wholes(self.plain)}
        return {"kind": "other", "text": f"{type(self.plain).__name__} {self.plain!r}"}


def key_candidates(prime: int) -> Mapping[str, Candidate]:
    """Keys and what is none."""
    return {
        "zero": Candidate(0, "the least key"),
        "largest": Candidate(prime - 1, "the largest key"),
        "prime": Candidate(prime, "p is no key"),
        "negative": Candidate(-1, "nor is -1"),
        "wide": Candidate(2**70, "more than 64 bits"),
        "boolean": Candidate(True, "true is no integer"),
        "real": Candidate(1.0, "a floating-point number"),
        "text": Candidate("1", "a text"),
        "list": Candidate((1,), "a list of one"),
    }


def report_candidates(good: Sequence[int], prime: int) -> Mapping[str, Candidate]:
    """Reports and what is none, made from a good one."""
    plain = tuple(good)
    return {
        "good": Candidate(plain, "4n integers in 0..p-1"),
        "short": Candidate(plain[:-1], "one entry is missing"),
        "long": Candidate((*plain, 0), "one entry too many"),
        "empty": Candidate((), "no entry"),
        "prime": Candidate((*plain[:-1], prime), "an entry is p"),
        "negative": Candidate((-1, *plain[1:]), "an entry is negative"),
        "real": Candidate((1.0, *plain[1:]), "an entry is a floating-point number"),
        "nested": Candidate(((1,), *plain[1:]), "an entry is a list"),
        "integer": Candidate(7, "not a list"),
        "text": Candidate("report", "a text"),
    }
