"""The context of a `rota up`: its name, and whether commands use it without being asked to."""

import asyncio
from itertools import count
from pathlib import Path

from rota import context, context_files
from rota.client import Api
from rota.connection_errors import is_loopback
from rota.context import Context
from rota.errors import CliError

ANSWER_S = 3.0
GATEWAY = "trigger-gateway"


async def free_name(wanted: str, folder: Path) -> str:
    """`wanted`, or the data folder's name, with a number if another Rota has it. CliError if `wanted` is taken."""
    if wanted:
        if await _taken(wanted):
            what = f"the context {wanted} is that of another Rota: {context.saved(wanted).url}"
            raise CliError(what, hint="choose another name with --context, or remove it: `rota context forget NAME`")
        return wanted
    name = first = context_files.name_of(folder.name)
    for number in count(2):
        if not await _taken(name):
            break
        name = f"{first}-{number}"
    return name


async def save_own(here: Context, name: str) -> bool:
    """Save it; whether it is the current context now. Another Rota that answers stays the current one."""
    context.save(here, name)
    current = context_files.current()
    url = context.saved(current).url
    if current != name and url != here.url and await answers(url):
        return False
    context_files.use(name)
    return True


async def answers(url: str) -> bool:
    """Whether a Rota is running at this address."""
    if not url:
        return False
    try:
        async with asyncio.timeout(ANSWER_S), Api(url, "-", key="") as api:
            return await api.service() == GATEWAY
    except (CliError, TimeoutError):
        return False


async def _taken(name: str) -> bool:
    """A context elsewhere is never replaced, one on this machine only when its Rota has stopped."""
    url = context.saved(name).url
    return bool(url) and (not is_loopback(url) or await answers(url))
