"""The search before a task: what is asked of its agents, and what becomes of their answers."""
