"""Waiting until all executors know a team's current definitions."""

import asyncio
import time

from rota.client import Api
from rota.errors import CliError

POLL_S = 0.2


async def until_known(api: Api, *, timeout: float) -> None:
    """CliError after `timeout` seconds, with how many know them."""
    deadline = time.monotonic() + timeout
    while True:
        seen = await api.of_team("GET", "/definitions/seen")
        if seen["executors"] and seen["seen"] == seen["executors"]:
            return
        if time.monotonic() > deadline:
            what = f"{seen['seen']} of {seen['executors']} executors know revision {seen['rev']} after {timeout:g} s"
            raise CliError(f"expected all executors to know the definitions: {what}", hint="`rota doctor` shows more")
        await asyncio.sleep(POLL_S)
