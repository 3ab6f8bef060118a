"""Fixtures for every suite, and loopback for the tests that speak to real servers: all others have no network."""

import gc
import os
from pathlib import Path

import pytest
import structlog
from hypothesis import settings

pytest_plugins = ["rota_common.testing.fixtures"]
"""With ROTA_TEST_SERVERS=containers, NATS and MongoDB of the fixtures are those that docker-compose.yml names."""

if os.environ.get("ROTA_TEST_SERVERS") == "containers":
    pytest_plugins.append("tests.containers.servers")

LOOPBACK = ["127.0.0.1", "localhost", "::1"]
ROOT = Path(__file__).parent
TESTS, INTEGRATION = ROOT / "tests", ROOT / "tests" / "integration"
SLOWEST = TESTS / "slowest.txt"
SOAK_TIMEOUT_S = 1200
SERVERS = {"mongo", "nats", "qdrant"}
SERVER_FIXTURES = {"mongo_server", "mongo_url", "nats", "nats_streams", "shared_nats"}

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("quick", settings.get_profile("repeatable"), max_examples=20)
settings.load_profile("repeatable")
"""The same examples each time, however slow the machine: what turns red is the change's own doing. To look for more:
`pytest --hypothesis-profile=default`. `make check` tries fewer ("quick")."""


for processor in structlog.get_config()["processors"]:
    if isinstance(processor, structlog.dev.ConsoleRenderer):  # the fine ones, with all variables, take seconds each
        processor.exception_formatter = structlog.dev.plain_traceback


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what speaks to servers, and begin with the modules that take longest, so that no worker ends late."""
    slowest = {name: rank for rank, name in enumerate(SLOWEST.read_text().split())}
    items.sort(key=lambda item: slowest.get(item.path.relative_to(ROOT).as_posix(), len(slowest)))
    for item in items:
        if item.path.is_relative_to(INTEGRATION) or _needs_server(item):
            item.add_marker(pytest.mark.integration)
        if item.get_closest_marker("integration") or item.path.is_relative_to(TESTS):
            item.add_marker(pytest.mark.allow_hosts(LOOPBACK))
        if item.get_closest_marker("soak"):
            item.add_marker(pytest.mark.timeout(SOAK_TIMEOUT_S))


def pytest_collection_finish() -> None:
    """What is collected stays to the end: full collections of garbage needn't look at it again."""
    gc.collect()
    gc.freeze()


def _needs_server(item: pytest.Item) -> bool:
    """A conformance suite runs on memory and on a server, which its parameter names; other tests ask for a server."""
    callspec = getattr(item, "callspec", None)
    given = {value for value in callspec.params.values() if isinstance(value, str)} if callspec else set()
    if "memory" in given:
        return False
    return bool(SERVERS & given or SERVER_FIXTURES.intersection(getattr(item, "fixturenames", ())))
