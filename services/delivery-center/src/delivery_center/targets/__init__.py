"""Targets: their circuit breakers, and their management."""
