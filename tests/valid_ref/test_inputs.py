"""Documents are read within bounds."""

from pathlib import Path

import pytest

from valid_ref import load_scenario
from valid_ref.document import DocumentError
from valid_ref.errors import ValidRefError
from valid_ref.inputs import LARGEST, is_archive, read_text

TEXT = "ein kurzer Satz: \u00e4\u00f6\u00fc"


@pytest.mark.checks("VA-6")
@pytest.mark.parametrize("more", [0, 1, 100])
def test_a_text_is_read_up_to_the_bound(tmp_path: Path, more: int) -> None:
    path, size = tmp_path / "text", len(TEXT.encode())
    path.write_text(TEXT, encoding="utf-8")
    assert read_text(path, ValidRefError, largest=size + more) == TEXT
    with pytest.raises(
        DocumentError, match=f"cannot read .*text: it has more than {size - 1} bytes"
    ):
        read_text(path, DocumentError, largest=size - 1)


@pytest.mark.checks("VA-6")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("absent", "No such file"),
        ("folder", "Is a directory"),
        ("latin", "can't decode"),
        ("a\0b", "null"),
        ("/dev/zero", f"more than {LARGEST} bytes"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "latin").write_bytes(TEXT.encode("latin-1"))
    with pytest.raises(DocumentError, match=words):
        read_text(tmp_path / name, DocumentError)
    with pytest.raises(ValidRefError, match=words):
        load_scenario(tmp_path / name)


def test_an_archive_is_known_by_its_beginning(tmp_path: Path) -> None:
    (tmp_path / "run.zip").write_bytes(b"PK\3\4 and so on")
    (tmp_path / "s.json").write_text("{}")
    found = [
        is_archive(path) for path in (*sorted(tmp_path.iterdir()), tmp_path, Path("/dev/zero"))
    ]
    assert found == [True, False, False, False]
