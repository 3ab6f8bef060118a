"""A decision by the link of a mail. Opening the link changes nothing; what decides is the button of its page."""

from dataclasses import dataclass
from hmac import compare_digest

from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_contracts.messages.approval import Approval, ApprovalStatus, DecideApproval, Decision
from rota_contracts.messages.audit import UNKNOWN_STATUS
from trigger_gateway.approvals.decide_approvals import DecideApprovals, Decided
from trigger_gateway.approvals.link import ApprovalLinks, LinkClaims, address_digest
from trigger_gateway.approvals.may_decide import may_decide
from trigger_gateway.approvals.notice_texts import outcome
from trigger_gateway.audit.record_changes import RecordChanges
from trigger_gateway.members.member import Member
from trigger_gateway.members.ports import Members
from trigger_gateway.problems import Conflict, Forbidden, Problem
from trigger_gateway.robots.ports import RobotRecords
from trigger_gateway.teams.authenticate import Caller

ACTION = "decide_approval"
DONE, REFUSED = 200, 409


@dataclass(frozen=True)
class OpenedLink:
    """What a valid link leads to. `robot` is the display name."""

    approval: Approval
    member: Member
    robot: str

    @property
    def pending(self) -> bool:
        return self.approval.status is ApprovalStatus.PENDING


@dataclass(frozen=True, kw_only=True)
class DecideByLink:
    links: ApprovalLinks
    members: Members
    robots: RobotRecords
    approvals: DecideApprovals
    audit: RecordChanges
    clock: Clock

    async def open(self, token: str) -> OpenedLink:
        """Raise Forbidden for a link that is forged, expired, or of a person who may not decide any more; NotFound and
        Conflict if there is no such call."""
        claims = self.links.read(token)
        if claims.expired(self.clock()):
            raise Forbidden("link_expired", "this link has expired, and with it the call: it was not made")
        member = await self._member(claims)
        approval = await self.approvals.read(claims.team, claims.approval_id)
        record = await self.robots.find(claims.team, approval.member_id)
        robot = record.robot if record is not None and not record.robot.deleted else None
        if not may_decide(member.definition, manager=robot.manager_id if robot else None):
            raise Forbidden("role_too_low", "you may not decide about calls of this robot any more: ask an admin")
        if approval.arguments_sha256 != claims.arguments_sha256:
            raise Conflict("arguments_changed", "the call has other arguments than those that the mail was about")
        return OpenedLink(approval, member, (robot.display_name if robot else "") or approval.member_id)

    async def decide(self, token: str, decision: Decision, *, request_id: str, address: str) -> Decided:
        """As `open`; Conflict, too, if it is decided already. The audit trail names the member."""
        opened = await self.open(token)
        approval, person = opened.approval, opened.member.definition
        if not opened.pending:
            raise Conflict("already_decided", f"nothing was changed: {outcome(approval)}")
        team = opened.member.team
        caller = Caller(team, person.role, person.display_name, person.member_id)
        entry = await self.audit.begin(caller, team, ACTION, request_id=request_id, address=address)
        on = {
            "approval_id": approval.approval_id,
            "member_id": approval.member_id,
            "execution_id": approval.execution_id,
            "tool": approval.tool,
            "decision": decision.value,
        }
        wanted = DecideApproval(
            team_id=team,
            approval_id=approval.approval_id,
            arguments_sha256=approval.arguments_sha256,
            decision=decision,
            by=person.member_id,
        )
        try:
            decided = await self.approvals.decide(wanted)
        except Problem:
            await self.audit.end(entry, status=REFUSED, on=on, changed=False)
            raise
        except Transient:  # the executor may have it all the same
            await self.audit.end(entry, status=UNKNOWN_STATUS, on=on, changed=True)
            raise
        await self.audit.end(entry, status=DONE, on=on, changed=True)
        return decided

    async def _member(self, claims: LinkClaims) -> Member:
        member = await self.members.find(claims.team, claims.member)
        if member is None or not compare_digest(address_digest(member.definition.email), claims.address):
            raise Forbidden("link_void", "this link was for a person who isn't reached at that address any more")
        return member
