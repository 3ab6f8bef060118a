"""The import that takes long, before a stack has to be ready in time."""

import asyncio

import pytest

from executor.adapters.litellm_model import LitellmModel


@pytest.fixture(scope="session", autouse=True)
def _litellm() -> None:
    asyncio.run(LitellmModel().load())
