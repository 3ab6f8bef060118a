"""The scheduler's decisions: pure functions over frozen data."""
