"""Notifies a robot's manager: a call waits for a decision, a run asks a question or has failed, it completes again.

A notice holds the member's id and no address, which the delivery-center asks for when it sends the mail.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from rota_common.clock import Clock
from rota_contracts.envelope import Event
from rota_contracts.ids import derived_id
from rota_contracts.messages.approval import ApprovalRequestedV1
from rota_contracts.messages.notice import NoticeKind, NoticeRequestedV1
from rota_contracts.messages.parking import ExecutionParkedV1
from rota_contracts.messages.robot_facts import RobotFailedV1, RobotRecoveredV1
from rota_contracts.model import Payload
from rota_contracts.robots.robot import Robot
from trigger_gateway.approvals.notice_texts import (
    SUBJECT_LIMIT,
    approval_subject,
    approval_text,
    failed_text,
    one_line,
    question_text,
    recovered_text,
)
from trigger_gateway.approvals.ports import NoticeRequests
from trigger_gateway.members.ports import Members
from trigger_gateway.robots.ports import RobotRecords

NEWS = timedelta(days=1)
"""A failure or a question that is older isn't mailed any more."""


@dataclass(frozen=True)
class News:
    """What a run of a robot came to."""

    kind: NoticeKind
    execution_id: str
    at: datetime


@dataclass(frozen=True, kw_only=True)
class NotifyManager:
    members: Members
    robots: RobotRecords
    notices: NoticeRequests
    clock: Clock

    async def of_approval(self, event: Event[ApprovalRequestedV1]) -> None:
        """No mail if the robot has no manager, or one who was deleted: the approval waits all the same."""
        fact, approval = event.data, event.data.approval
        if approval.expires_at <= self.clock():
            return
        if fact.manager_id is None or await self.members.find(fact.team_id, fact.manager_id) is None:
            return
        robot = one_line(fact.robot or fact.member_id, 100)
        notice = NoticeRequestedV1(
            team_id=fact.team_id,
            member_id=fact.member_id,
            kind=NoticeKind.APPROVAL,
            execution_id=approval.execution_id,
            notice_id=derived_id("notice", "approval", fact.team_id, approval.approval_id, fact.manager_id),
            recipient=fact.manager_id,
            subject=approval_subject(approval, robot),
            text=approval_text(approval, robot),
            approval_id=approval.approval_id,
            arguments_sha256=approval.arguments_sha256,
            until=approval.expires_at,
        )
        await self.notices.request(notice, caused_by=event)

    async def of_question(self, event: Event[ExecutionParkedV1]) -> None:
        """No mail of a run that waits for anything else."""
        fact = event.data
        if fact.question:
            news = News(NoticeKind.QUESTION, fact.execution_id, fact.parked_at)
            await self._publish(event, news, "has a question", question_text, fact.reason)

    async def of_failure(self, event: Event[RobotFailedV1]) -> None:
        fact = event.data
        news = News(NoticeKind.FAILED, fact.execution_id, fact.at)
        await self._publish(event, news, "has failed", failed_text, fact.message)

    async def of_recovery(self, event: Event[RobotRecoveredV1]) -> None:
        fact = event.data
        news = News(NoticeKind.RECOVERED, fact.execution_id, fact.at)
        await self._publish(event, news, "works again", recovered_text, "")

    async def _publish(
        self, event: Event[Payload], news: News, what: str, text: Callable[[str, str, str, str], str], said: str
    ) -> None:
        """No mail if the robot has no manager, or one who was deleted."""
        robot = await self._managed(event.data, news.at)
        if robot is None or robot.manager_id is None:
            return
        name = one_line(robot.display_name or robot.member_id, 100)
        notice = NoticeRequestedV1(
            team_id=robot.team_id,
            member_id=robot.member_id,
            kind=news.kind,
            execution_id=news.execution_id,
            notice_id=derived_id("notice", event.id),
            recipient=robot.manager_id,
            subject=one_line(f"{name} {what}", SUBJECT_LIMIT),
            text=text(name, robot.member_id, news.execution_id, said),
            until=news.at + NEWS,
        )
        await self.notices.request(notice, caused_by=event)

    async def _managed(self, fact: Payload, at: datetime) -> Robot | None:
        """The robot, if it has a manager to notify."""
        if at + NEWS <= self.clock():
            return None
        record = await self.robots.find(fact.team_id, fact.member_id)
        if record is None or record.robot.deleted or record.robot.manager_id is None:
            return None
        manager = await self.members.find(fact.team_id, record.robot.manager_id)
        return record.robot if manager is not None else None
