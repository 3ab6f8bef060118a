"""Decides where a result goes, sends it there, tries again what failed, and keeps what became of it."""
