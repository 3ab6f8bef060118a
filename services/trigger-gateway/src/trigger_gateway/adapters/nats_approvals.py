"""Approvals of the executor, and notices for members, over the bus."""

from dataclasses import dataclass

from rota_common.bus.publishing import Publish
from rota_common.bus.rpc import Ask
from rota_contracts.catalog import DECIDE_APPROVAL, LIST_APPROVALS, NOTICE_REQUESTED, READ_APPROVAL
from rota_contracts.envelope import Event
from rota_contracts.messages.approval import ApprovalPage, ApprovalReply, DecideApproval, ListApprovals, ReadApproval
from rota_contracts.messages.notice import NoticeRequestedV1
from rota_contracts.model import Payload
from trigger_gateway import rpc
from trigger_gateway.adapters.nats_definitions import transient


@dataclass(frozen=True)
class NatsApprovals:
    ask: Ask

    async def page(self, asked: ListApprovals) -> ApprovalPage:
        return await rpc.call(self.ask, LIST_APPROVALS, asked)

    async def read(self, asked: ReadApproval) -> ApprovalReply:
        return await rpc.call(self.ask, READ_APPROVAL, asked)

    async def decide(self, decision: DecideApproval) -> ApprovalReply:
        return await rpc.call(self.ask, DECIDE_APPROVAL, decision)


@dataclass(frozen=True)
class NatsNotices:
    publish: Publish

    async def request(self, notice: NoticeRequestedV1, *, caused_by: Event[Payload]) -> None:
        with transient():
            await self.publish(NOTICE_REQUESTED, notice, caused_by=caused_by)
