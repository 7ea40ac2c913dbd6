"""Whether a command can write where it was told to, asked before the work begins."""

import os
from pathlib import Path

from valid_ref.errors import ValidRefError


class OutputError(ValidRefError):
    """A place that cannot be written to."""


def require_file(path: Path | None, option: str) -> None:
    """Refuse a file that cannot be made or replaced."""
    if path is None:
        return
    if path.is_dir():
        raise OutputError(f"{option}: cannot write {path}: it is a directory")
    if path.exists():
        _require_writable(path, path, option)
    elif not path.parent.is_dir():
        raise OutputError(f"{option}: cannot write {path}: there is no directory {path.parent}")
    else:
        _require_writable(path, path.parent, option)


def require_directory(path: Path | None, option: str) -> None:
    """Refuse a directory that neither is there nor can be made."""
    if path is None:
        return
    nearest = next(place for place in (path, *path.parents) if place.exists())
    if not nearest.is_dir():
        raise OutputError(f"{option}: cannot write {path}: {nearest} is no directory")
    _require_writable(path, nearest, option)


def require_recording(path: Path | None, option: str) -> None:
    """Refuse a place for a recording: RUN.zip, or an empty or new directory.

    Implements: RE-1, CF-23.
    """
    if path is None:
        return
    if path.suffix == ".zip":
        require_file(path, option)
        return
    require_directory(path, option)
    if path.is_dir() and any(path.iterdir()):
        raise OutputError(f"{option}: {path} is not an empty directory", clause="RE-1")


def _require_writable(path: Path, place: Path, option: str) -> None:
    if not os.access(place, os.W_OK):
        raise OutputError(f"{option}: cannot write {path}: permission denied")
