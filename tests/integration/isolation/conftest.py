"""One server with keys and two teams for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.integration.isolation.kit import IsolatedNats, isolated_nats


@pytest_asyncio.fixture
async def bus(tmp_path: Path) -> AsyncIterator[IsolatedNats]:
    async with isolated_nats(tmp_path / "nats") as made:
        yield made


@pytest_asyncio.fixture(params=[False, True], ids=["as configured", "the account's border alone"])
async def fenced(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[IsolatedNats]:
    """Also with the teams' users unrestricted in their own accounts: each of the two fences holds by itself."""
    async with isolated_nats(tmp_path / "nats", accounts_alone=request.param) as made:
        yield made
