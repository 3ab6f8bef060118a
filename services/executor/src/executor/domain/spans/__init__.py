"""The spans of a run: from its trigger over its phases, tasks and calls to its end."""
