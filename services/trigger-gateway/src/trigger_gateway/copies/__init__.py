"""Copies that other services read, in buckets of NATS."""
