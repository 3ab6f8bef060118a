"""Definitions of a team beside its robots: agents, connectors and MCP servers, and the set that they make together."""
