"""Peers on the same work: Restate and DBOS beside Rota's standard mode."""
