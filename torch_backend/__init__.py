"""The experiments on CPU or GPU; every verdict is taken from `valid_ref`.

A run, from the bottom up: `lattice` (and the rules, attacks, models and data) compute a round of
all agents; `engine` folds rounds over a `program`, `delivery` says what was heard of a round,
`estimates` and `transcripts` keep what validation needs; `reports` and `validation` validate.
An experiment: `config` reads it and builds the programs of its jobs, `job` runs one of them with
checkpoints, `experiments` runs all, `results` are the files, `tables` and `plot` show them.
"""
