"""Implementations of the memory's ports."""
