"""For tests: strategies that shrink, a game against the network, a table of what is reached.

Needs Hypothesis (the extra `testing`). Nothing else of valid_ref imports this package.
"""
