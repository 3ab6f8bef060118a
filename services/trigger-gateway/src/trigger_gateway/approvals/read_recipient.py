"""Answers the delivery-center where a notice goes, with the link that is for its reader alone."""

from dataclasses import dataclass

from rota_contracts.messages.notice import ReadRecipient as Asked
from rota_contracts.messages.notice import RecipientReply
from trigger_gateway.approvals.link import ApprovalLinks, LinkClaims, address_digest
from trigger_gateway.approvals.may_decide import may_decide
from trigger_gateway.approvals.notice_texts import closing
from trigger_gateway.members.ports import Members
from trigger_gateway.robots.ports import RobotRecords


@dataclass(frozen=True, kw_only=True)
class ReadRecipient:
    members: Members
    robots: RobotRecords
    links: ApprovalLinks

    async def __call__(self, asked: Asked) -> RecipientReply:
        member = await self.members.find(asked.team_id, asked.recipient)
        if member is None:
            return RecipientReply()
        email, webhook = member.definition.email, member.definition.webhook
        if asked.approval_id is None or asked.arguments_sha256 is None or asked.until is None:
            return RecipientReply(email=email, webhook=webhook)
        record = await self.robots.find(asked.team_id, asked.member_id)
        manager = record.robot.manager_id if record else None
        if not may_decide(member.definition, manager=manager):
            words = closing(asked.approval_id, link=None, allowed=False)
            return RecipientReply(email=email, webhook=webhook, closing=words)
        claims = LinkClaims(
            team=asked.team_id,
            approval_id=asked.approval_id,
            arguments_sha256=asked.arguments_sha256,
            member=asked.recipient,
            address=address_digest(email),
            expires=int(asked.until.timestamp()),
        )
        words = closing(asked.approval_id, link=self.links.make(claims), allowed=True)
        return RecipientReply(email=email, webhook=webhook, closing=words)
