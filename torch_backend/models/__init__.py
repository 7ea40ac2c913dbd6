"""Models as pure functions of a flat vector of parameters, for many agents at once."""
