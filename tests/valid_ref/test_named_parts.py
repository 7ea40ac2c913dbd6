"""Parts of somebody else: found by name, written by the same, refused where they are none."""

import enum
import re
import sys
from pathlib import Path
from typing import Annotated, ClassVar, Protocol
from unittest import mock

import attrs
import pytest

from valid_ref.document import DocumentError, schema, structure, unstructure
from valid_ref.named_parts import Installed, NamedParts, name_of, parse_part

HERE = __name__


class Sound(Protocol):
    def heard(self) -> int: ...


class Pitch(enum.Enum):
    HIGH = "high"
    LOW = "low"


@attrs.frozen
class Quiet:
    """No sound."""

    kind: ClassVar[str] = "quiet"
    volume: int = 0

    def heard(self) -> int:
        return self.volume


@attrs.frozen
class Loud:
    """A class of somebody else's."""

    times: tuple[int, ...] = (1,)
    pitch: Pitch = Pitch.LOW

    def heard(self) -> int:
        return sum(self.times)


@attrs.frozen
class Louder(Quiet):
    """Inherits a kind, which is not its own."""


@attrs.frozen
class Named:
    """Says a kind of its own."""

    kind: ClassVar[str] = "named"

    def heard(self) -> int:
        return 3


@attrs.define
class Changing:
    def heard(self) -> int:
        return 4


@attrs.frozen
class Mute:
    """Nothing to hear."""


not_a_class = Quiet()
SOUNDS = NamedParts("sound", (Quiet,), "test.sounds", ("heard",))
SoundPart = Annotated[Sound, SOUNDS]


@attrs.frozen
class Choir:
    """Many sounds, and perhaps one more."""

    sounds: tuple[SoundPart, ...]
    last: SoundPart | None = None


@pytest.mark.checks("VA-6")
@pytest.mark.parametrize(
    ("written", "part"),
    [
        ({"kind": "quiet"}, Quiet()),
        ({"kind": "quiet", "volume": 2}, Quiet(2)),
        ("quiet", Quiet()),
        ("quiet:volume=2", Quiet(2)),
        ({"kind": f"{HERE}:Loud", "times": [1, 2]}, Loud((1, 2))),
        (f"{HERE}:Loud", Loud()),
        (f"{HERE}:Loud:times=[1,2],pitch=high", Loud((1, 2), Pitch.HIGH)),
        (f"{HERE}:Louder:volume=5", Louder(5)),
    ],
)
def test_a_part_is_read_by_its_name_and_written_with_it(written: object, part: Sound) -> None:
    choir = structure(Choir, {"sounds": [written], "last": written})
    assert choir == Choir((part,), part)
    document = unstructure(choir)
    assert document["last"] == document["sounds"][0]
    assert document["last"]["kind"] == name_of(part)
    assert structure(Choir, document) == choir
    assert structure(Choir, {"sounds": []}) == Choir(())
    assert unstructure(Choir(()))["last"] is None
    if isinstance(written, str):
        assert parse_part(SoundPart, written, "--sound") == part


@pytest.mark.checks("VA-6")
@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("quite", r"\$.last.kind: no \w+ is called \"quite\" \(.*\); did you mean 'quiet'"),
        ({"volume": 1}, r"kind: no \w+ is called null \(.*\); known: quiet"),
        (7, "expected an object, or a text"),
        ("no_such_module:Loud", "cannot import no_such_module: ModuleNotFoundError"),
        (f"{HERE}:Silent", f"{HERE} has no class Silent"),
        (f"{HERE}:not_a_class", "has no class not_a_class"),
        (f"{HERE}:Named", "has kind = 'named', by which it cannot be found again"),
        (f"{HERE}:Changing", "Changing is not a frozen attrs class"),
        (f"{HERE}:Pitch", "Pitch is not a frozen attrs class"),
        (f"{HERE}:Mute", "Mute is no sound: it has no heard"),
        (f"{HERE}:Loud:time=3", "last.time: unknown field; did you mean 'times'"),
        ("quiet:volume", "last.volume: expected an integer"),
    ],
)
def test_what_is_no_part_is_refused_by_name(written: object, words: str) -> None:
    with pytest.raises(DocumentError, match=words):
        structure(Choir, {"sounds": [], "last": written})


@pytest.mark.checks("VA-6")
def test_a_class_that_a_document_could_not_find_again_is_refused() -> None:
    @attrs.frozen
    class Hidden:
        def heard(self) -> int:
            return 1

    with pytest.raises(DocumentError, match="put the class into a module of its own"):
        SOUNDS.require(Hidden)
    SOUNDS.require(Loud)


@pytest.mark.checks("VA-6")
def test_entry_points_give_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "sounds-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: sounds\nVersion: 1.0\n")
    points = f"[test.sounds]\nnamed = {HERE}:Named\nother = {HERE}:Loud\n"
    (folder / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(tmp_path)
    choir = structure(Choir, {"sounds": ["named", "other:pitch=high"]})
    assert choir == Choir((Named(), Loud(pitch=Pitch.HIGH)))
    document = unstructure(choir)
    assert [sound["kind"] for sound in document["sounds"]] == ["named", f"{HERE}:Loud"]
    assert structure(Choir, document) == choir
    assert set(SOUNDS.registered()) == {"named", "other"}


def _install(tmp_path: Path, package: str, points: dict[str, str], *groups: str) -> None:
    """Somebody's package with these entry points in each of the groups."""
    folder = tmp_path / f"{package}-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"{name} = {target}" for name, target in points.items()]
    text = "".join("\n".join([f"[{group}]", *lines, ""]) for group in groups)
    (folder / "entry_points.txt").write_text(text)


BROKEN = {
    "absent": ("no_such_module:Loud", "cannot import no_such_module: ModuleNotFoundError"),
    "ending": ("ending_sounds:Loud", "cannot import ending_sounds: SystemExit: 0"),
    "function": ("json:dumps", "json has no class dumps"),
    "lost": ("json:Loud", "json has no class Loud"),
    "stranger": ("json:JSONDecoder", "json.decoder:JSONDecoder is not a frozen attrs class"),
    "module": ("json", "the entry point 'module' of the group .* is 'json', not module:Name"),
}


@pytest.mark.checks("VA-6")
def test_a_broken_entry_point_spoils_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ending_sounds.py").write_text("raise SystemExit(0)")
    points = {name: target for name, (target, _reason) in BROKEN.items()}
    more = {"other": f"{HERE}:Loud", "quiet": f"{HERE}:Loud", "twice": f"{HERE}:Loud"}
    _install(tmp_path, "sounds", points | more, "test.sounds")
    _install(tmp_path, "noises", {"twice": f"{HERE}:Mute"}, "test.sounds")
    monkeypatch.syspath_prepend(tmp_path)
    found = {one.name: one for one in SOUNDS.installed()}
    assert found.keys() == {*points, *more}
    assert found["other"] == Installed("other", Loud)
    assert found["quiet"].broken == "the package itself has a part of this name"
    assert SOUNDS.find("quiet") is Quiet
    for name, reason in {
        **{name: reason for name, (_target, reason) in BROKEN.items()},
        "twice": f"stands for several: {HERE}:\\w+ and {HERE}:\\w+",
    }.items():
        assert found[name].part is None
        assert re.search(reason, found[name].broken)
        with pytest.raises(DocumentError, match=rf"^\$(\.kind)?: .*{reason}"):
            SOUNDS.find(name)


def test_a_module_that_fails_is_refused_with_its_error(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "broken_sounds.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(DocumentError, match="cannot import broken_sounds: ZeroDivisionError"):
        SOUNDS.find("broken_sounds:Loud")
    with mock.patch.dict(sys.modules), pytest.raises(DocumentError, match="has no class Loud"):
        SOUNDS.find("json:Loud")


@pytest.mark.checks("VA-6")
def test_the_schema_admits_what_is_read() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    form = schema(Choir)
    for last in ({"kind": "quiet", "volume": 3}, {"kind": "a:B", "c": 1}, "quiet", None):
        jsonschema.validate({"sounds": [], "last": last}, form)
    for last in ({"kind": "quiet", "volumes": 3}, {"volume": 1}, 3):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"sounds": [], "last": last}, form)
