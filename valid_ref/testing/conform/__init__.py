"""The conformance kit: drives a foreign agent through scenarios and compares every word.

The protocol that is spoken with the agent is spec/conformance.md. Only `generate` needs
Hypothesis; `agent` is an example of an agent that imports nothing of this project.
"""
