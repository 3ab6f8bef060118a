"""The tasks of a run: their order, their turns and their calls."""
