"""Sends a notice to a member, once: by mail, and to the member's webhook if there is one.

The address and the end of the text, which may hold a link for its reader alone, are asked for at each attempt and kept
nowhere. What is sent twice, by a crash between its sending and the note of it, has the same Message-ID or `webhook-id`.
"""

import asyncio
from dataclasses import dataclass

from delivery_center.attempts.concurrency_limits import ConcurrencyLimits
from delivery_center.domain.outgoing_message import OutgoingMessage
from delivery_center.notices.ports import Recipients, SentNotices
from delivery_center.ports import Channel, Robots
from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_contracts.envelope import Event
from rota_contracts.messages.delivery import DeliveryContent, DeliveryContext
from rota_contracts.messages.notice import NoticeRequestedV1, ReadRecipient
from rota_contracts.messages.text import Text
from rota_contracts.messages.trigger import TriggerType
from rota_contracts.robots.preferences import EmailTarget, NoticeWebhook, WebhookTarget
from rota_contracts.robots.robot import Identity, Robot, RobotConfig


@dataclass(frozen=True, kw_only=True)
class SendNotice:
    """`mail` has limits of its own: robots' reports leave room for it. `limits`: webhooks of one team at once."""

    recipients: Recipients
    sent: SentNotices
    robots: Robots
    mail: Channel[EmailTarget]
    webhook: Channel[WebhookTarget]
    limits: ConcurrencyLimits
    clock: Clock

    async def __call__(self, event: Event[NoticeRequestedV1]) -> None:
        """Nothing is sent to a member who is gone, nor after the notice's time. Raise what the mail server or the
        receiver raises; what was sent already isn't sent again."""
        notice = event.data
        if notice.until is not None and notice.until <= self.clock():
            return
        recipient = await self.recipients.read(
            ReadRecipient(
                team_id=notice.team_id,
                member_id=notice.member_id,
                recipient=notice.recipient,
                approval_id=notice.approval_id,
                arguments_sha256=notice.arguments_sha256,
                until=notice.until,
            )
        )
        if recipient.email is None:
            return
        outgoing = await self._outgoing(event, recipient.closing)
        sendings = [self._mail(notice, recipient.email, outgoing)]
        if recipient.webhook is not None and notice.kind is not None:
            sendings.append(self._post(notice, recipient.webhook, outgoing))
        ended = await asyncio.gather(*sendings, return_exceptions=True)
        failures = [each for each in ended if each is not None]
        if failures:  # one that may succeed later goes first
            raise min(failures, key=lambda failure: not isinstance(failure, Transient))

    async def _mail(self, notice: NoticeRequestedV1, address: str, outgoing: OutgoingMessage) -> None:
        if not await self.sent.has(notice.notice_id):
            await self.mail.send(EmailTarget(to=[address]), outgoing)
            await self.sent.add(notice.notice_id, self.clock())

    async def _post(self, notice: NoticeRequestedV1, target: NoticeWebhook, outgoing: OutgoingMessage) -> None:
        """Without the link, which decides as its reader: a program decides with a key."""
        name = f"{notice.notice_id}/webhook"
        if await self.sent.has(name):
            return
        async with self.limits.slot(notice.team_id) as free:
            if not free:
                raise Transient("the team's webhooks of notices that are under way leave no room")
            await self.webhook.send(WebhookTarget(url=target.url, secret=target.secret), outgoing)
        await self.sent.add(name, self.clock())

    async def _outgoing(self, event: Event[NoticeRequestedV1], closing: str) -> OutgoingMessage:
        notice, now = event.data, self.clock()
        team, member = notice.team_id, notice.member_id
        nameless = Robot(team_id=team, member_id=member, robot_config=RobotConfig(identity=Identity(role="robot")))
        return OutgoingMessage(
            delivery_id=notice.notice_id,
            request_id=notice.notice_id,
            at=now,
            created_at=event.time,
            content=DeliveryContent(summary=notice.subject, body=Text(inline=notice.text)),
            body=f"{notice.text}\n{closing}".rstrip() + "\n",
            context=DeliveryContext(team_id=team, member_id=member, execution_id="", trigger_type=TriggerType.EVENT),
            robot=await self.robots.find(team, member) or nameless,
            notice=notice,
        )
