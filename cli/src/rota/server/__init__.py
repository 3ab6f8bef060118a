"""The whole system in one process. Imported only by commands that need the extra `rota[server]`."""
