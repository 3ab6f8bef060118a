"""Approvals: calls of robots that wait for a person's decision; the executor keeps them."""
