"""Administration of a NATS server: accounts, permissions, feed clients."""
