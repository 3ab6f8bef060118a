"""Administration of a NATS server: accounts, permissions, clients of the feed."""
