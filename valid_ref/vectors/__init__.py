"""Test vectors: cases in JSON, for implementations in any language.

The modules here generate the files of `spec/vectors/` from the reference. What replays them from
the files lies with the tests and imports nothing from here.
"""

from valid_ref.vectors.bundle import (
    bundle,
    bundle_differences,
    read_archive,
    read_bundle,
    write_bundle,
)
from valid_ref.vectors.document import VectorError
from valid_ref.vectors.publish import differences, families, generate, published, summary, write

__all__ = [
    "VectorError",
    "bundle",
    "bundle_differences",
    "differences",
    "families",
    "generate",
    "published",
    "read_archive",
    "read_bundle",
    "summary",
    "write",
    "write_bundle",
]
