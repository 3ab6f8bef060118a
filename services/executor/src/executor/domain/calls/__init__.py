"""Calls of tools and processes: the order of the checks before one is made."""
