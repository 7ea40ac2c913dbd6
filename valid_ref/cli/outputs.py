"""Whether a command can write where it was told to, asked before the work begins.

Every command says once, to `require_outputs`, all that it will write and all that it was given to
read. No output may be lost: none may replace another, nor anything that is read.
"""

import contextlib
import fnmatch
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import attrs

from valid_ref.errors import OutputError
from valid_ref.outputs import require_directory, require_file, require_recording

Named = Mapping[str, Path | None]
"""Places by the option or argument that names them; None where it was not given."""


def require_outputs(
    *,
    files: Named | None = None,
    directories: Named | None = None,
    recordings: Named | None = None,
    written: tuple[str, ...] = (),
    inputs: Named | None = None,
) -> None:
    """Refuse outputs that cannot be written, and those that would replace one another or an input.

    `written` are the names of the files that go into the directories, as patterns.

    Implements: RE-1, CF-23.
    """
    outputs = list[_Place]()
    for option, path in _given(files):
        require_file(path, option)
        outputs.append(_Place(option, path))
    for option, path in _given(directories):
        require_directory(path, option)
        outputs.append(_Place(option, path, written))
    for option, path in _given(recordings):
        require_recording(path, option)
        outputs.append(_Place(option, path, () if path.suffix == ".zip" else ("*",)))
    read = [_Place(option, path, _parts(path)) for option, path in _given(inputs)]
    for index, output in enumerate(outputs):
        for other in outputs[:index]:
            _require_apart(output, other, "one would replace the other")
        for source in read:
            _require_apart(output, source, f"it would replace what {source.option} names")


def existing_files(words: Iterable[str]) -> Iterator[tuple[str, Path]]:
    """The words of a command that name files; words that no file can have as its name are none."""
    for word in words:
        with contextlib.suppress(OSError, ValueError):
            if Path(word).is_file():
                yield word, Path(word)


def _given(places: Named | None) -> Iterator[tuple[str, Path]]:
    return ((option, path) for option, path in (places or {}).items() if path is not None)


def _parts(path: Path) -> tuple[str, ...]:
    """What belongs to an input: of a directory all that is in it."""
    return ("*",) if path.is_dir() else ()


@attrs.frozen
class _Place:
    """A place with the option that names it, and the files in it that belong to it."""

    option: str
    path: Path
    parts: tuple[str, ...] = ()

    @property
    def real(self) -> Path:
        """The place itself, whatever it is called."""
        return Path(os.path.realpath(self.path))

    def same(self, other: "_Place") -> bool:
        """Whether both are one place; devices and pipes can be written to as often as one likes."""
        if self.path.exists() and other.path.exists():
            ordinary = self.path.is_file() or self.path.is_dir()
            return ordinary and self.path.samefile(other.path)
        return self.real == other.real

    def has(self, other: "_Place") -> bool:
        """Whether the other is one of the files that belong to this one."""
        if self.real not in other.real.parents:
            return False
        name = str(other.real.relative_to(self.real))
        return any(fnmatch.fnmatch(name, pattern) for pattern in self.parts)


def _require_apart(output: _Place, other: _Place, said: str) -> None:
    if output.same(other):
        relation = "the same place as"
    elif output.has(other) or other.has(output):
        relation = "not apart from"
    else:
        return
    raise OutputError(
        f"{output.option}: {output.path} is {relation} {other.option} {other.path}: {said}"
    )
