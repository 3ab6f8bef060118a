"""Databases as sources: their changes become triggers."""
