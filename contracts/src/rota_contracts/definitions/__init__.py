"""Definitions of a team beside its robots: agents, connectors, MCP servers and skills, and the set that they make."""
