"""Definitions of a team beside its robots: agents, connectors and MCP servers."""
