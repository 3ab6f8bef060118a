"""A running service: its life cycle, HTTP, settings, logs, metrics."""
