"""The whole system in one process. Needs the extra `rota[server]`; nothing else in the command imports it at start."""
