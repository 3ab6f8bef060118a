"""Approvals on real servers: they survive the executor that asked, and end by the database's clock."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from rota_common.clock import now
from rota_common.testing.bus import stored
from rota_common.testing.crash import crash
from rota_common.testing.samples import TEAM, a_robot
from rota_contracts import catalog
from rota_contracts.canonical_json import sha256_of
from rota_contracts.messages.approval import (
    Approval,
    ApprovalReply,
    ApprovalStatus,
    DecideApproval,
    Decision,
    ListApprovals,
    ReadApproval,
)
from rota_contracts.messages.execution import ExecStatus
from tests.integration.executor.harness import Harness
from tests.integration.executor.test_callbacks import Payments, payments, waits

__all__ = ["payments"]
BEHIND = timedelta(minutes=15)
"""Longer than an approval is waited for here, and shorter than a run may last."""


@pytest.fixture
async def office(system: Harness, payments: Payments) -> Harness:
    """A robot whose calls of crm.pay wait for a person."""
    resources = {"agents": ["experts.writer"], "processes": [{"name": "crm.pay"}]}
    await system.keep(
        a_robot(config={"resources": resources, "autonomy": "supervised", "approvals": {"wait": "10m"}}, rev=3)
    )
    return system


async def asked(system: Harness) -> Approval:
    await system.until(waits)
    page = await system.services["trigger-gateway"].ask(catalog.LIST_APPROVALS, ListApprovals(team_id=TEAM))
    (approval,) = page.approvals
    return approval


async def decide(system: Harness, approval: Approval, decision: Decision, **given: Any) -> ApprovalReply:
    about = {"approval_id": approval.approval_id, "arguments_sha256": approval.arguments_sha256, "by": "member:ann"}
    request = DecideApproval.model_validate({"team_id": TEAM, "decision": decision} | about | given)
    return await system.services["trigger-gateway"].ask(catalog.DECIDE_APPROVAL, request)


async def ended(system: Harness) -> list[ApprovalStatus]:
    """The status of each approval that ended, by the facts of it."""
    facts = {fact.id: fact.data.approval for fact in await stored(system.nats_url, catalog.APPROVAL_DECIDED)}
    return [each.status for each in facts.values()]


async def test_an_approval_survives_its_executor_and_the_call_is_made_once(
    office: Harness, payments: Payments
) -> None:  # DEC-10 DEC-57
    first = await office.start()
    await office.request()
    approval = await asked(office)
    await crash(first.service)
    assert payments.calls == []
    async with office.executor(), office.executor():
        forged = await decide(office, approval, Decision.APPROVE, arguments_sha256=sha256_of(["another"]))
        elsewhere = await decide(office, approval, Decision.APPROVE, team_id="initech")
        assert ("the hash of others" in forged.refused, elsewhere) == (True, ApprovalReply())
        assert (await asked(office), payments.calls) == (approval, [])
        done = await decide(office, approval, Decision.APPROVE)
        again = await decide(office, approval, Decision.APPROVE)
        other = await decide(office, approval, Decision.DENY, by="member:bob")
        assert (done.refused, again.repeated) == ("", True)
        assert other.refused == "too late: it is approved by member:ann"
        await office.until(lambda _: bool(payments.calls))
        assert len(payments.calls) == 1
        await office.call_back(payments.callback, {"paid": True})
        over = await office.over()
        assert (over.status, len(payments.calls)) == (ExecStatus.COMPLETED, 1)
        assert await ended(office) == [ApprovalStatus.APPROVED]
        assert len({fact.id for fact in await stored(office.nats_url, catalog.APPROVAL_REQUESTED)}) == 1
        used = await decide(office, approval, Decision.APPROVE, by="member:bob")
        assert ("too late" in used.refused, len(payments.calls)) == (True, 1)
        replayed = await office.replay()
        assert replayed.same, replayed.difference


async def test_an_approval_expires_by_the_databases_clock_and_not_by_its_executors(
    office: Harness, payments: Payments
) -> None:  # DEC-10 DEC-57
    def behind() -> datetime:
        return now() - BEHIND

    async with office.executor(clock=behind):
        await office.request()
        over = await office.over()
        assert over.status is ExecStatus.FAILED
        assert "no one approved this call within 10m" in (over.error or "")
        requested = [fact.data.approval for fact in await stored(office.nats_url, catalog.APPROVAL_REQUESTED)]
        late = await decide(office, requested[0], Decision.APPROVE)
        assert (late.refused, payments.calls) == ("too late: it is expired", [])
        assert await ended(office) == [ApprovalStatus.EXPIRED]
        request = ReadApproval(team_id=TEAM, approval_id=requested[0].approval_id)
        read = await office.services["trigger-gateway"].ask(catalog.READ_APPROVAL, request)
        assert (read.approval and read.approval.status) == ApprovalStatus.EXPIRED
        replayed = await office.replay()
        assert replayed.same, replayed.difference
