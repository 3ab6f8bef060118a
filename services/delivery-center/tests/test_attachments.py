"""The attachments of a result, and their description to programs."""

import asyncio
from datetime import UTC, datetime
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from random import Random
from typing import Any

import pytest

from delivery_center.adapters.byte_budget import ByteBudget
from delivery_center.adapters.in_memory import InMemoryFiles
from delivery_center.adapters.mail_files import attach, pack
from delivery_center.adapters.mail_limits import MailLimits
from delivery_center.adapters.mail_message import Composer, recipients_of
from delivery_center.attempts.resolve_attachments import resolve_attachments
from delivery_center.domain.outgoing_message import ResolvedAttachment
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.messages.attachment import StoredAttachment
from rota_contracts.messages.delivery import Attachment
from rota_contracts.robots.preferences import EmailTarget

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
LEADS = StoredAttachment(
    file_id="1" * 32,
    team_id="acme",
    name="leads.csv",
    content_type="text/csv; charset=utf-8",
    size=4,
    sha256="5" * 64,
    created_at=NOON,
)
FILES = InMemoryFiles(LEADS, contents={LEADS.file_id: b"a,b\n"})


def attachment(file: str = LEADS.file, **fields: Any) -> Attachment:
    return Attachment(title="Leads", file=file, **fields)


async def test_stored_attachments_are_described_to_programs(outgoing: Any) -> None:  # DC-04
    wanted = [attachment(task_id="t1"), attachment("__s3://x"), attachment(LEADS.file.replace("rota", "yao"))]
    known = await resolve_attachments(FILES, "acme", wanted)
    described = [each.as_json() for each in outgoing(attachments=known).attachments]
    about = {"name": "leads.csv", "content_type": "text/csv; charset=utf-8", "size": 4, "sha256": "5" * 64}
    path = {"href": f"/v1/teams/acme/attachments/{LEADS.file_id}"}
    title = {"title": "Leads", "description": None}
    assert described == [
        {**title, "task_id": "t1", "file": LEADS.file, **about, **path},
        {**title, "task_id": None, "file": "__s3://x"},
        {**title, "task_id": None, "file": LEADS.file.replace("rota", "yao"), **about, **path},
    ]


async def test_a_file_of_another_team_is_not_found(subtests: pytest.Subtests) -> None:  # DC-05
    cases = [
        ("other", LEADS.file, "there is no such file, or it is too old"),
        ("acme", "__rota.attachment://" + "2" * 32, "there is no such file, or it is too old"),
        ("acme", "__rota.attachment://../other/" + LEADS.file_id, "there is no such file, or it is too old"),
        ("acme", "__s3://" + LEADS.file_id, "it is kept by s3, and not here"),
    ]
    for team, file, why in cases:
        with subtests.test(team=team, file=file, why=why):
            assert await resolve_attachments(FILES, team, [attachment(file)]) == (
                ResolvedAttachment(attachment(file), missing=why),
            )


async def test_a_result_without_attachments_reads_no_store() -> None:
    class Untouched(InMemoryFiles):
        async def find(self, team: str, file_id: str) -> StoredAttachment | None:
            raise AssertionError

    assert await resolve_attachments(Untouched(), "acme", []) == ()


async def test_a_mail_attaches_what_fits_and_names_the_rest() -> None:
    small, large = LEADS, LEADS.model_copy(update={"file_id": "2" * 32, "size": 3_000_000})
    files = InMemoryFiles(small, large, contents={small.file_id: b"a,b\n", large.file_id: bytes(2)})
    given = [ResolvedAttachment(attachment(), each) for each in (large, small, small)]
    too_large, first, second = await pack(files, given, limit=7)
    assert (first.content, first.note) == (b"a,b\n", "leads.csv")
    assert too_large.note == f"not attached: it has 3.0 MB, and a mail takes 0.0 kB of files; it is {large.file}"
    assert (second.content, "0.0 kB of files" in second.left_out) == (b"", True)
    (damaged,) = await pack(files, given[:1], limit=9_000_000)
    assert damaged.note == f"not attached: the content of file {large.file_id} isn't what was stored there"


async def test_a_file_is_attached_with_its_content_type(subtests: pytest.Subtests) -> None:
    cases = [
        ("text/csv; charset=utf-8", 'text/csv; charset="utf-8"'),
        ("image/png", "image/png"),
        ("message/rfc822", "application/octet-stream"),
        ("multipart/mixed; boundary=x", "application/octet-stream"),
        ("nonsense", "application/octet-stream"),
    ]
    for given, sent in cases:
        with subtests.test(given=given, sent=sent):
            stored = LEADS.model_copy(update={"content_type": given, "name": 'Ümsätze "Q1".csv'})
            (packed,) = await pack(FILES, [ResolvedAttachment(attachment(), stored)], limit=10)
            message = EmailMessage()
            message.set_content("text")
            attach(message, packed)
            (part,) = message.iter_attachments()
            assert (part["Content-Type"], part.get_filename()) == (sent, 'Ümsätze "Q1".csv')


async def test_files_are_encoded_on_the_way_and_arrive_byte_for_byte(outgoing: Any) -> None:
    contents = [Random(n).randbytes(size) for n, size in enumerate((0, 1, 57, 58, 200_000))]
    stored = [LEADS.model_copy(update={"file_id": str(n) * 32, "size": len(each)}) for n, each in enumerate(contents)]
    files = InMemoryFiles(*stored, contents={each.file_id: contents[n] for n, each in enumerate(stored)})
    compose = Composer(files, limits=MailLimits(), default_from="rota@relay.example")
    target = EmailTarget(to=["boss@acme.example"])
    attached = tuple(ResolvedAttachment(attachment(each.file), each) for each in stored)
    mail = await compose(target, outgoing(body=".dot\n\ntext", attachments=attached), recipients_of(target))
    chunks = list(mail.chunks())
    assert max(map(len, chunks)) < 100_000
    raw = b"".join(chunks)
    assert b"\r\n..dot" in raw
    assert mail.size == len(raw) - 1
    read = message_from_bytes(raw.replace(b"\r\n..", b"\r\n."), policy=default)
    assert [part.get_payload(decode=True) for part in read.iter_attachments()] == contents


async def test_files_in_memory_at_a_time_are_no_more_than_one_mail_may_have() -> None:
    budget, held, peak = ByteBudget(10), 0, 0

    async def mail(size: int) -> None:
        nonlocal held, peak
        async with budget.taken(size):
            held += size
            peak = max(peak, held)
            await asyncio.sleep(0)
            held -= size

    given_up = asyncio.create_task(mail(10))
    async with budget.taken(1):
        await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)
        waiting = [asyncio.create_task(mail(size)) for size in (4, 10, 3, 3, 3, 10)]
        await asyncio.sleep(0)
    await asyncio.gather(*waiting)
    assert peak == 10
    await asyncio.wait_for(mail(99), PATIENCE_S)  # more than all
