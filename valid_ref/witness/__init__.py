"""Witnesses: for every erratum that a run can show, the run."""
