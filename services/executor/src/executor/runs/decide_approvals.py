"""Approvals: what waits for a person, and their decisions, which are signals of the run that waits."""

from dataclasses import dataclass

from executor.domain.calls.asked import AskedCall
from executor.domain.run import DECISION, Run, Signal
from executor.domain.signals import approvals, control
from executor.ports import Runs, SignalResult
from executor.runs.signals import SendSignal
from rota_common.clock import Clock
from rota_common.page_cursor import parse_cursor
from rota_common.redaction import without_credentials
from rota_contracts.ids import derived_id
from rota_contracts.messages.approval import (
    ApprovalPage,
    ApprovalReply,
    ApprovalStatus,
    DecideApproval,
    Decision,
    ListApprovals,
    ReadApproval,
)

OTHER_ARGUMENTS = "expected a decision about the arguments of this call, got the hash of others"


@dataclass(frozen=True, kw_only=True)
class Approvals:
    """The first decision holds. It is stored with its run before the reply, so no crash loses it."""

    runs: Runs
    send: SendSignal
    clock: Clock

    async def page(self, request: ListApprovals) -> ApprovalPage:
        """Raises Permanent for a cursor that is none."""
        return await self.runs.pending_approvals(request, after=parse_cursor(request.cursor or ""))

    async def one(self, request: ReadApproval) -> ApprovalReply:
        found = await self._find(request.team_id, request.approval_id)
        return ApprovalReply() if found is None else ApprovalReply(approval=found[1].public())

    async def decide(self, request: DecideApproval) -> ApprovalReply:
        """For exactly the arguments of this hash."""
        found = await self._find(request.team_id, request.approval_id)
        if found is None:
            return ApprovalReply()
        run, asked = found
        if request.arguments_sha256 != asked.arguments_sha256:
            return ApprovalReply(approval=asked.public(), refused=OTHER_ARGUMENTS)
        if asked.status is not ApprovalStatus.PENDING:
            return self._decided_before(run, asked, request)
        signal = self._signal(request)
        if signal.at >= asked.expires_at:
            return ApprovalReply(approval=asked.public(), refused="its time is over")
        result = await self.runs.deliver_signal(run.id, signal)
        self.send.resume([run.id])
        found = await self._find(request.team_id, request.approval_id)
        if found is None:
            return ApprovalReply()
        if result is SignalResult.ACCEPTED and found[1].decided_by == request.by:
            return ApprovalReply(approval=found[1].public())
        return self._decided_before(*found, request)

    async def _find(self, team: str, approval_id: str) -> tuple[Run, AskedCall] | None:
        """With what stands in the run's inbox. Of another team there is none."""
        run = await self.runs.by_approval(approval_id)
        if run is None or run.execution.team_id != team:
            return None
        run = control.apply_signals(run, now=self.clock())
        asked = approvals.find(run, approval_id)
        return None if asked is None else (run, asked)

    def _signal(self, request: DecideApproval) -> Signal:
        """One for each approval, whatever is decided."""
        return Signal(
            id=derived_id("decision", request.approval_id),
            action=DECISION,
            approval=request.approval_id,
            decision=request.decision,
            by=request.by,
            reason=without_credentials(request.note),
            at=self.clock(),
        )

    def _decided_before(self, run: Run, asked: AskedCall, request: DecideApproval) -> ApprovalReply:
        taken = ApprovalStatus.DENIED if request.decision is Decision.DENY else ApprovalStatus.APPROVED
        always = asked.always is (request.decision is Decision.ALWAYS)
        if asked.status is taken and asked.decided_by == request.by and always:
            return ApprovalReply(approval=asked.public(), repeated=True)
        by = f" by {asked.decided_by}" if asked.decided_by else ""
        return ApprovalReply(approval=asked.public(), refused=f"too late: it is {asked.status}{by}")
