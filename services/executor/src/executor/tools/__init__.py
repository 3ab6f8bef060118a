"""The built-in tools of robots."""
