"""Adapters of the executor, one module per technology."""
