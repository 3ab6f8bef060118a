"""Fixtures for every suite: real servers, one nats-server per test."""

pytest_plugins = ["rota_common.testing.fixtures"]
