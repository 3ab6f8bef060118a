"""Notices: mailed once, and posted once, to where the gateway says at that moment."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from delivery_center.adapters.httpx_webhook import payload
from delivery_center.adapters.in_memory import InMemoryRobots, InMemorySentNotices, ScriptedChannel
from delivery_center.attempts.concurrency_limits import ConcurrencyLimits
from delivery_center.notices.send_notice import SendNotice
from rota_common.errors import Transient
from rota_common.testing.chaos import twice
from rota_contracts.envelope import Event
from rota_contracts.messages.notice import NoticeRequestedV1, ReadRecipient, RecipientReply
from rota_contracts.robots.preferences import NoticeWebhook

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
CLOSING = "Look at it: <https://rota.example/v1/approvals/token>"
GIVEN: dict[str, Any] = {
    "team_id": "acme",
    "member_id": "ann",
    "notice_id": "n1",
    "kind": "approval.requested",
    "execution_id": "e1",
    "recipient": "boss",
    "subject": "Approval required: crm.delete_lead (Ann)",
    "text": "A call waits.\n",
    "approval_id": "a1",
    "arguments_sha256": "8f" * 32,
    "until": NOON + timedelta(days=3),
}


class ScriptedRecipients:
    def __init__(self, reply: RecipientReply) -> None:
        self.reply = reply
        self.asked: list[ReadRecipient] = []

    async def read(self, asked: ReadRecipient) -> RecipientReply:
        self.asked.append(asked)
        return self.reply


class Harness:
    def __init__(self, *robots: Any, script: tuple[Exception, ...] = ()) -> None:
        self.now = NOON
        self.mail = ScriptedChannel(*script)
        self.webhook = ScriptedChannel()
        self.sent = InMemorySentNotices()
        self.recipients = ScriptedRecipients(RecipientReply(email="boss@acme.example", closing=CLOSING))
        self.send = SendNotice(
            recipients=self.recipients,
            sent=self.sent,
            robots=InMemoryRobots(*robots),
            mail=self.mail,
            webhook=self.webhook,
            limits=ConcurrencyLimits(2),
            clock=lambda: self.now,
        )

    async def handle(self, **fields: Any) -> None:
        notice = NoticeRequestedV1.model_validate(GIVEN | fields)
        await twice(self.send)(Event("f1", "notice.requested", "trigger-gateway", NOON, notice))


async def test_a_notice_is_mailed_once_with_the_end_that_the_gateway_gives(robot: Any) -> None:  # TG-54
    harness = Harness(robot(display_name="Ann"))
    await harness.handle()
    [outgoing] = harness.mail.sent
    assert outgoing.delivery_id == "n1"
    assert outgoing.content.summary == "Approval required: crm.delete_lead (Ann)"
    assert outgoing.body == f"A call waits.\n\n{CLOSING}\n"
    assert outgoing.robot.display_name == "Ann"
    asked = harness.recipients.asked[0]
    assert (asked.team_id, asked.recipient, asked.approval_id) == ("acme", "boss", "a1")


async def test_a_notice_is_posted_to_the_members_webhook_without_the_link() -> None:  # TG-54
    harness = Harness(script=(Transient("the mail server is away"),))
    hook = NoticeWebhook(url="https://hooks.acme.example/rota", secret="$SECRET.HOOK")
    harness.recipients.reply = RecipientReply(email="boss@acme.example", closing=CLOSING, webhook=hook)
    with pytest.raises(Transient):
        await harness.handle()
    await harness.handle()
    assert (len(harness.webhook.sent), len(harness.mail.sent)) == (1, 2)
    sent = json.loads(payload(harness.webhook.sent[0]))
    assert (sent["type"], sent["timestamp"]) == ("approval.requested", "2026-03-02T12:00:00Z")
    given = {name: value for name, value in GIVEN.items() if name not in ("kind", "until")}
    assert sent["data"] == given | {"until": "2026-03-05T12:00:00Z"}
    assert "rota.example" not in json.dumps(sent)


async def test_a_member_who_is_gone_gets_nothing() -> None:
    harness = Harness()
    harness.recipients.reply = RecipientReply()
    await harness.handle()
    assert harness.mail.sent == []


async def test_a_notice_is_not_sent_after_its_time() -> None:
    harness = Harness()
    harness.now = NOON + timedelta(days=3)
    await harness.handle()
    assert (harness.mail.sent, harness.recipients.asked) == ([], [])


async def test_a_mail_that_failed_is_sent_again_with_the_same_id() -> None:
    harness = Harness(script=(Transient("the mail server is away"),))
    with pytest.raises(Transient):
        await harness.handle()
    assert harness.sent.sent == {}
    await harness.handle()
    assert [each.delivery_id for each in harness.mail.sent] == ["n1", "n1"]
    assert list(harness.sent.sent) == ["n1"]
