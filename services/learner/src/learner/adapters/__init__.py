"""Implementations of the learner's ports."""
