"""For tests: strategies that shrink, a game against the network, a table of what is reached.

Needs Hypothesis (the extra `testing`), but for `conform`, which needs it only to generate cases.
Nothing of valid_ref imports this package but the command `conform`.
"""
