"""The memory: what each robot knows, kept and recalled by meaning."""
