"""Implementations of the validator's ports."""
