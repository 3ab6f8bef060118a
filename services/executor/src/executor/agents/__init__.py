"""Agents: their prompt files, the prompts made of them, and the connectors to their models."""
