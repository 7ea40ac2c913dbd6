"""Adversaries: what Byzantine agents do instead of what they should."""
