"""Long texts of a step, which were paid for: kept in the object store, else in the document, else in hand."""

import asyncio
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

from executor.domain.run import Run
from executor.ports import Blobs, RunQueries
from rota_common.errors import Permanent, Transient
from rota_common.retries import backoff
from rota_common.runtime.logs import logger
from rota_contracts.messages.text import BlobRef, Text
from rota_contracts.streams import OUTPUTS_SPARE_DAYS

REPLY_LIMIT, ALL_REPLIES_LIMIT = 16 * 1024, 4 * 1024 * 1024
"""Bytes of one model reply, and of all replies of a run, that its journal keeps inline."""

SPARE_REPLY_LIMIT, SPARE_REPLIES_LIMIT = 1024 * 1024, 8 * 1024 * 1024
"""The same while the object store takes nothing; a document holds 16 MB."""

AGAIN_BASE_S, AGAIN_CAP_S = 0.5, 30.0

RENEWED_AFTER = timedelta(days=OUTPUTS_SPARE_DAYS / 2)
"""Of a run that ends later, long texts might end before it: they are stored anew."""

_log = logger(service="executor")


async def renew_texts(blobs: Blobs, runs: RunQueries, run: Run, *, now: datetime) -> None:
    """Let the long texts of a run that ends now be kept as long as the run. What can't be renewed is logged: the end
    doesn't wait for it."""
    if now - run.execution.created_at < RENEWED_AFTER:
        return
    kept = [run.model_dump(mode="json"), *(entry.model_dump(mode="json") for entry in await runs.journal(run.id))]
    for ref in {ref.name: ref for each in kept for ref in _refs(each)}.values():
        try:
            await blobs.keep(await blobs.read(Text(ref=ref)), inline_limit=0)
        except (Transient, Permanent) as error:
            _log.warning("a long text isn't renewed", execution_id=run.id, text=ref.name, reason=str(error))


def _refs(value: Any) -> Iterator[BlobRef]:
    """The references to long texts in JSON."""
    if isinstance(value, dict):
        if isinstance(ref := value.get("ref"), dict) and value.keys() == Text.model_fields.keys():
            yield BlobRef.model_validate(ref)
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _refs(each)


async def keep_reply(blobs: Blobs, run: Run, reply: str) -> Text:
    """A model's reply, for the journal."""
    try:
        return await blobs.keep(reply, inline_limit=REPLY_LIMIT if run.said_bytes < ALL_REPLIES_LIMIT else 0)
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
            return await blobs.keep(text, inline_limit=inline_limit)
        except Transient as error:
            attempt += 1
            _log.warning("an output waits in hand", execution_id=run.id, attempt=attempt, reason=str(error))
            await asyncio.sleep(backoff(attempt, random=random, base=AGAIN_BASE_S, cap=AGAIN_CAP_S))
