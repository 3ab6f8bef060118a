"""The attachments of a result, and their description to programs."""

from datetime import UTC, datetime
from email.message import EmailMessage
from typing import Any

import pytest

from delivery_center.adapters.in_memory import InMemoryFiles
from delivery_center.adapters.mail_files import attach, pack
from delivery_center.attempts.resolve_attachments import resolve_attachments
from delivery_center.domain.outgoing_message import ResolvedAttachment
from rota_contracts.messages.attachment import StoredAttachment
from rota_contracts.messages.delivery import Attachment

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


@pytest.mark.parametrize(
    ("team", "file", "why"),
    [
        ("other", LEADS.file, "there is no such file, or it is too old"),
        ("acme", "__rota.attachment://" + "2" * 32, "there is no such file, or it is too old"),
        ("acme", "__rota.attachment://../other/" + LEADS.file_id, "there is no such file, or it is too old"),
        ("acme", "__s3://" + LEADS.file_id, "it is kept by s3, and not here"),
    ],
)
async def test_a_file_of_another_team_is_not_found(team: str, file: str, why: str) -> None:  # DC-05
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


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("text/csv; charset=utf-8", 'text/csv; charset="utf-8"'),
        ("image/png", "image/png"),
        ("message/rfc822", "application/octet-stream"),
        ("multipart/mixed; boundary=x", "application/octet-stream"),
        ("nonsense", "application/octet-stream"),
    ],
)
async def test_a_file_is_attached_with_its_content_type(given: str, sent: str) -> None:
    stored = LEADS.model_copy(update={"content_type": given, "name": 'Ümsätze "Q1".csv'})
    (packed,) = await pack(FILES, [ResolvedAttachment(attachment(), stored)], limit=10)
    message = EmailMessage()
    message.set_content("text")
    attach(message, packed)
    (part,) = message.iter_attachments()
    assert (part["Content-Type"], part.get_filename()) == (sent, 'Ümsätze "Q1".csv')
    assert part.get_payload(decode=True) == b"a,b\n"
