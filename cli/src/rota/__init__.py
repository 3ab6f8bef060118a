"""The command `rota`: the whole system in one process, and what its operators type."""
