"""Places to write to: asked before the work, and refused by the name of the option or argument."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from valid_ref.arguments import require_type
from valid_ref.errors import OutputError, ValidRefError


def place_of(path: object, name: str) -> Path:
    """A path from a text or a path; what no file system can have as a path is refused."""
    require_type(path, (str, Path), name, "a path")
    place = Path(str(path))
    try:
        os.fsencode(place)
    except ValueError as error:
        raise OutputError(f"{name}: {str(path)!r} is no path: {error}") from error
    if "\0" in str(place):
        raise OutputError(f"{name}: {str(path)!r} is no path: it has a null character")
    return place


def require_file(path: Path, option: str) -> None:
    """Refuse a file that cannot be made or replaced."""
    if path.is_dir():
        raise OutputError(f"{option}: cannot write {path}: it is a directory")
    require_folder(path, option)
    with writing(path, option):
        _try_to_write(path)


def require_folder(path: Path, option: str) -> None:
    """Refuse a place in a directory that is not there."""
    if not path.exists() and not path.parent.is_dir():
        raise OutputError(f"{option}: cannot write {path}: there is no directory {path.parent}")


def require_directory(path: Path, option: str) -> None:
    """Refuse a directory that neither is there nor can be made."""
    nearest = next(place for place in (path, *path.parents) if os.path.lexists(place))
    if not nearest.is_dir():
        raise OutputError(f"{option}: cannot write {path}: {nearest} is no directory")
    with writing(path, option):
        Path(tempfile.mkdtemp(dir=nearest)).rmdir()


def require_recording(path: Path, option: str) -> None:
    """Refuse a place for a recording: RUN.zip, or an empty or new directory."""
    if path.suffix == ".zip":
        require_file(path, option)
        return
    require_directory(path, option)
    if path.is_dir() and any(path.iterdir()):
        raise OutputError(f"{option}: {path} is not an empty directory", clause="RE-1")


@contextlib.contextmanager
def writing(path: Path, option: str) -> Iterator[None]:
    """A block that only writes to a place: errors of the system are refused by the option's name.

    So are refusals that say already that something cannot be written.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except ValidRefError as error:
        if not isinstance(error.__context__, OSError) or error.message.startswith(f"{option}: "):
            raise
        raise OutputError(f"{option}: {error.message}", clause=error.clause) from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OutputError(f"{option}: cannot write {path}: {reason}") from error


def _try_to_write(path: Path) -> None:
    """Open a file as it will be opened, and leave everything as it was."""
    if path.exists():
        if not path.is_fifo():  # to open a pipe is to wait for its reader
            path.open("ab").close()
        return
    place = path.resolve()  # a link may lead to a file that is not there yet
    with place.open("xb"):
        pass
    place.unlink()
