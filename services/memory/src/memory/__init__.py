"""The memory: the knowledge of robots and teams, recalled by meaning."""
