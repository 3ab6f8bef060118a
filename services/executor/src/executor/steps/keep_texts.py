"""Long texts of a step, which were paid for: kept in the object store, else in the document, else in hand."""

import asyncio
from random import Random

from executor.domain.run import Run
from executor.domain.texts import owner_of
from executor.file_ports import Blobs
from rota_common.errors import Transient
from rota_common.retries import backoff
from rota_common.runtime.logs import logger
from rota_contracts.messages.text import Text

REPLY_LIMIT, ALL_REPLIES_LIMIT = 16 * 1024, 4 * 1024 * 1024
"""Bytes of one model reply, and of all replies of a run, that its journal keeps inline."""

SPARE_REPLY_LIMIT, SPARE_REPLIES_LIMIT = 1024 * 1024, 8 * 1024 * 1024
"""The same while the object store takes nothing; a document holds 16 MB."""

AGAIN_BASE_S, AGAIN_CAP_S = 0.5, 30.0

_log = logger(service="executor")


async def keep_reply(blobs: Blobs, run: Run, reply: str) -> Text:
    """A model's reply, for the journal."""
    try:
        limit = REPLY_LIMIT if run.said_bytes < ALL_REPLIES_LIMIT else 0
        return await blobs.keep(reply, owner=owner_of(run), inline_limit=limit)
    except Transient as error:
        _log.warning("a reply stays in its document", execution_id=run.id, reason=str(error))
    size = len(reply.encode())
    if size <= SPARE_REPLY_LIMIT and run.said_bytes + size <= SPARE_REPLIES_LIMIT:
        return Text(inline=reply)
    return await keep_output(blobs, run, reply, inline_limit=0)


async def keep_output(blobs: Blobs, run: Run, text: str, *, inline_limit: int) -> Text:
    """An output. While the store takes nothing the step waits with it in hand: asking or calling again would be paid
    again. A stop or the deadline cancels it."""
    attempt, random = 0, Random()
    while True:
        try:
            return await blobs.keep(text, owner=owner_of(run), inline_limit=inline_limit)
        except Transient as error:
            attempt += 1
            _log.warning("an output waits in hand", execution_id=run.id, attempt=attempt, reason=str(error))
            await asyncio.sleep(backoff(attempt, random=random, base=AGAIN_BASE_S, cap=AGAIN_CAP_S))
