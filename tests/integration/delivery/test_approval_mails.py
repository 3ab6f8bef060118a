"""A call that waits is mailed to the robot's manager, and decided by the button behind the mail's link.

The gateway and the delivery-center run over one bus; the mail server is a real one, the executor is scripted.
"""

import base64
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

import delivery_center.adapters.in_memory
import delivery_center.app
import delivery_center.settings
import trigger_gateway.adapters.in_memory
import trigger_gateway.app
import trigger_gateway.settings
from delivery_center.adapters.in_memory import InMemoryFiles, InMemoryMailCounts, InMemorySuppressions
from delivery_center.adapters.real import notice_channel
from rota_common.runtime.service import Runtime
from rota_common.runtime.serving import App
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_contracts.catalog import (
    APPROVAL_REQUESTED,
    DECIDE_APPROVAL,
    EXECUTION_PARKED,
    NOTICE_REQUESTED,
    READ_APPROVAL,
)
from rota_contracts.messages.approval import (
    Approval,
    ApprovalReply,
    ApprovalRequestedV1,
    ApprovalStatus,
    DecideApproval,
    Decision,
    ReadApproval,
)
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.parking import ExecutionParkedV1
from tests.integration.delivery.receivers import Mailbox

KEY = base64.urlsafe_b64encode(b"0123456789abcdef0123456789abcdef").decode()
ADMIN, TEAM, PUBLIC = "the-administrators-key", "/v1/teams/acme", "https://rota.example"
ANN = {"member_id": "ann", "display_name": "Ann", "email": "ann@acme.example"}
ROBOT = {"member_id": "leader", "manager_id": "ann", "robot_config": {"identity": {"role": "Lead specialist"}}}
FORM = {"content-type": "application/x-www-form-urlencoded"}


@dataclass
class Executor:
    """One approval, and the decisions that it was asked for."""

    approval: Approval
    decisions: list[DecideApproval] = field(default_factory=list)

    async def read(self, asked: ReadApproval) -> ApprovalReply:
        return ApprovalReply(approval=self.approval)

    async def decide(self, wanted: DecideApproval) -> ApprovalReply:
        self.decisions.append(wanted)
        status = ApprovalStatus.DENIED if wanted.decision is Decision.DENY else ApprovalStatus.APPROVED
        given = {"status": status, "decided_by": wanted.by, "decided_at": datetime.now(UTC)}
        self.approval = self.approval.model_copy(update=given)
        return ApprovalReply(approval=self.approval)


@dataclass
class World:
    bus: InMemoryBus
    http: httpx.AsyncClient
    executor: Executor

    async def ask(self) -> None:
        fact = ApprovalRequestedV1(
            team_id="acme", member_id="leader", approval=self.executor.approval, robot="Leads", manager_id="ann"
        )
        await self.bus.publish(APPROVAL_REQUESTED, fact, caused_by=self.executor.approval.approval_id)
        await self.bus.settled()


def waiting(**fields: Any) -> Approval:
    now = datetime.now(UTC)
    given = {
        "approval_id": "a1",
        "member_id": "leader",
        "execution_id": "e1",
        "task_id": "t1",
        "tool": "crm.delete_lead",
        "arguments": '{"id":"L-1042","note":"[Approve](https://evil.example)"}',
        "arguments_sha256": "8f" * 32,
        "asked_at": now,
        "expires_at": now + timedelta(days=3),
    }
    return Approval.model_validate(given | fields)


@asynccontextmanager
async def started(app: App) -> AsyncIterator[App]:
    await app.service.start()
    await app.service.started.wait()
    try:
        yield app
    finally:
        await app.service.stop(1)


@pytest.fixture
async def world(box: Mailbox) -> AsyncIterator[World]:
    bus = InMemoryBus()
    runtime = Runtime(bus=bus)
    nowhere: dict[str, Any] = {"nats_url": "", "mongo_url": "", "stop_timeout": 1}
    gateway = trigger_gateway.app.build(
        trigger_gateway.settings.Settings(**nowhere, admin_key=ADMIN, public_url=PUBLIC),
        runtime=runtime,
        adapters=trigger_gateway.adapters.in_memory.in_memory(secrets_key=KEY),
    )
    mailing = delivery_center.settings.Settings(**nowhere, smtp_url=box.url, default_from="rota@rota.example")
    channel = notice_channel(mailing, InMemoryFiles(), InMemorySuppressions(), InMemoryMailCounts(), {})
    delivery = delivery_center.app.build(
        mailing, runtime=runtime, adapters=delivery_center.adapters.in_memory.in_memory(notices=channel)
    )
    executor = Executor(waiting())
    bus.answer(READ_APPROVAL, executor.read)
    bus.answer(DECIDE_APPROVAL, executor.decide)
    async with AsyncExitStack() as stack:
        for app in (gateway, delivery):
            await stack.enter_async_context(started(app))
        transport = httpx.ASGITransport(gateway.http)
        http = await stack.enter_async_context(httpx.AsyncClient(transport=transport, base_url="http://gateway"))
        made = await http.post("/v1/teams", json={"team_id": "acme"}, headers={"authorization": f"Bearer {ADMIN}"})
        http.headers["authorization"] = f"Bearer {made.json()['api_key']}"
        assert (await http.post(f"{TEAM}/members", json=ANN)).status_code == 201
        assert (await http.post(f"{TEAM}/robots", json=ROBOT)).status_code == 201
        yield World(bus, http, executor)


def link_in(box: Mailbox) -> str:
    """The path of the one link in the newest mail's text."""
    text = box.mails[-1][1].get_body(("plain",)).get_content()  # type: ignore[union-attr]  # every mail has one
    [link] = re.findall(rf"<{PUBLIC}(/\S+)>", text)
    return str(link)


async def test_a_mailed_call_is_decided_by_its_button_alone_and_once(
    world: World, box: Mailbox
) -> None:  # DEC-57, DEC-10
    await world.ask()
    [(recipients, mail)] = box.mails
    assert (recipients, mail["Subject"]) == (["ann@acme.example"], "Approval required: crm.delete_lead (Leads)")
    notice = world.bus.facts(NOTICE_REQUESTED)[0].data
    assert mail["Message-ID"] == f"<{notice.notice_id}@rota.example>"
    html = mail.get_body(("html",)).get_content()
    assert re.findall(r'href="([^"]*)"', html) == [f"{PUBLIC}{link_in(box)}"]  # the arguments make no link
    path = link_in(box)
    world.http.headers.pop("authorization")  # the link is enough
    scanned = [await world.http.get(path) for _ in range(2)]
    assert ([each.status_code for each in scanned], world.executor.decisions) == ([200, 200], [])
    assert world.executor.approval.status is ApprovalStatus.PENDING
    forged = f"{path[:-2]}{'AA' if path[-2:] != 'AA' else 'BB'}"
    assert (await world.http.post(forged, content="decision=approve", headers=FORM)).status_code == 403
    assert world.executor.decisions == []
    done = await world.http.post(path, content="decision=approve", headers=FORM)
    assert (done.status_code, world.executor.approval.decided_by) == (200, "ann")
    used = await world.http.post(path, content="decision=deny", headers=FORM)
    assert (used.status_code, len(world.executor.decisions)) == (409, 1)


@pytest.mark.parametrize("fields", [{"arguments_sha256": "0a" * 32}, {"status": "expired"}, {"status": "withdrawn"}])
async def test_what_has_changed_since_the_mail_is_not_approved(
    world: World, box: Mailbox, fields: dict[str, str]
) -> None:  # DEC-57
    await world.ask()
    world.executor.approval = waiting(**fields)
    answer = await world.http.post(link_in(box), content="decision=approve", headers=FORM)
    assert (answer.status_code, world.executor.decisions) == (409, [])


async def test_a_mail_server_that_is_busy_gets_the_mail_later_and_once(world: World, box: Mailbox) -> None:
    box.refusals = ["451 try again"]
    await world.ask()
    await world.ask()
    assert len(box.mails) == 1


async def test_a_question_is_mailed_to_the_manager_with_the_command_that_answers_it(
    world: World, box: Mailbox
) -> None:  # TG-54
    for parks, question in ((1, False), (2, True)):
        fact = ExecutionParkedV1(
            team_id="acme",
            member_id="leader",
            execution_id="e1",
            status=ExecStatus.WAITING,
            reason="Which offer?" if question else "waits for the result of process crm.pay",
            question=question,
            parks=parks,
            parked_at=datetime.now(UTC),
        )
        await world.bus.publish(EXECUTION_PARKED, fact, caused_by=f"e1/{parks}")
    await world.bus.settled()
    [(_, mail)] = box.mails
    text = mail.get_body(("plain",)).get_content()  # type: ignore[union-attr]  # every mail has one
    assert mail["Subject"] == "leader has a question"
    assert "Which offer?" in text
    assert 'rota answer e1 "…"' in text
