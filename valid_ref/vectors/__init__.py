"""Test vectors: cases in JSON, for implementations in any language.

The modules here generate the files of `spec/vectors/` from the reference; `publish` writes and
compares them. What replays them from the files lies with the tests and imports nothing from here.
"""
