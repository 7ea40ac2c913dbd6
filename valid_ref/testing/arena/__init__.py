"""The arena: a network whose agents are processes of any language, recorded and judged."""
