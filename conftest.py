"""Fixtures for every suite, and loopback for the tests that speak to real servers: all others have no network."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ["rota_common.testing.fixtures"]

LOOPBACK = ["127.0.0.1", "localhost", "::1"]
WHOLE_SYSTEM = Path(__file__).parent / "tests"

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
"""The same examples each time, however slow the machine: what turns red is the change's own doing. To look for more:
`pytest --hypothesis-profile=default`."""


def pytest_xdist_auto_num_workers() -> int:
    """`-n auto`: one per core, whether or not psutil is there to say that two of them are halves of one."""
    return os.cpu_count() or 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("integration") or WHOLE_SYSTEM in item.path.parents:
            item.add_marker(pytest.mark.allow_hosts(LOOPBACK))
