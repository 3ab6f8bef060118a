"""Attempts: sending a delivery to its targets, at once and again."""
