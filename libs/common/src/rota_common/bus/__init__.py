"""NATS: the connection, events, requests and replies, the failure policy."""
