"""Links of mails about approvals: who is told, what the link shows, what its button does, and what does nothing."""

import base64
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
import pytest_asyncio

from rota_common.runtime.service import Runtime
from rota_contracts.catalog import APPROVAL_REQUESTED, NOTICE_REQUESTED, READ_RECIPIENT, ROBOT_FAILED, ROBOT_RECOVERED
from rota_contracts.messages.approval import ApprovalStatus, Decision
from rota_contracts.messages.notice import NoticeRequestedV1, ReadRecipient, RecipientReply
from rota_contracts.messages.robot_facts import RobotFailedV1, RobotRecoveredV1
from trigger_gateway.adapters.in_memory import in_memory
from trigger_gateway.ports import Adapters

from .approvals import OTHER_SHA, Executor, approval, requested
from .harness import TEAM, Gateway, gateway, settings

MEMBERS, LEADER = f"{TEAM}/members", f"{TEAM}/robots/leader"
ANN = {"member_id": "ann", "display_name": "Ann", "email": "ann@acme.example"}
PUBLIC = "https://rota.example"
FORM = {"content-type": "application/x-www-form-urlencoded"}


async def managed(given: Gateway) -> None:
    """The robot `leader`, which ann manages."""
    given.key = await given.make_team()
    assert (await given.call("POST", MEMBERS, json=ANN)).status_code == 201
    await given.make_robot()
    assert (await given.call("PATCH", LEADER, json={"manager_id": "ann"})).status_code == 200


@pytest_asyncio.fixture
async def told() -> AsyncIterator[Gateway]:
    """A gateway that people reach at PUBLIC."""
    async with gateway(settings(public_url=f"{PUBLIC}/")) as made:
        await managed(made)
        yield made


@pytest_asyncio.fixture
async def executor(told: Gateway) -> AsyncIterator[Executor]:
    async with Executor().running(told.bus) as running:
        yield running


async def recipient(told: Gateway, notice: NoticeRequestedV1) -> RecipientReply:
    """What the delivery-center is answered."""
    given = notice.model_dump(include=set(ReadRecipient.model_fields))
    return await told.bus.ask(READ_RECIPIENT, ReadRecipient.model_validate(given))


async def notice_of(
    told: Gateway, executor: Executor, *, manager: str | None = "ann", **fields: Any
) -> NoticeRequestedV1:
    """The notice about a call that waits from now on."""
    waiting = executor.has[str(fields.get("approval_id", "a1"))] = approval(**fields)
    await told.bus.publish(APPROVAL_REQUESTED, requested(waiting, manager), caused_by=waiting.approval_id)
    await told.bus.settled()
    return told.bus.facts(NOTICE_REQUESTED)[-1].data


async def link_of(told: Gateway, executor: Executor, **fields: Any) -> str:
    """The path of the link that ann is mailed."""
    closing = (await recipient(told, await notice_of(told, executor, **fields))).closing
    return closing.partition("<")[2].partition(">")[0].removeprefix(PUBLIC)


async def press(told: Gateway, path: str, decision: str = "approve") -> httpx.Response:
    return await told.http.post(path, content=f"decision={decision}", headers=FORM)


def nothing(executor: Executor, answer: httpx.Response, status: int, text: str) -> None:
    """The answer says `text`, and the call waits as before."""
    assert (answer.status_code, executor.has["a1"].status) == (status, ApprovalStatus.PENDING), answer.text
    assert text in answer.text
    assert "<form" not in answer.text


async def test_a_robots_manager_is_told_of_a_call_that_waits(told: Gateway, executor: Executor) -> None:  # TG-54, EX-57
    notice = await notice_of(told, executor, reason="it destroys ``` something", tool="crm.delete_lead")
    assert (notice.recipient, notice.member_id, notice.approval_id) == ("ann", "leader", "a1")
    assert notice.subject == "Approval required: crm.delete_lead (Lead Processor)"
    assert '````\n[Approval Required]\nTool: crm.delete_lead\nArgs: {"id":"<L-1042>"}\n' in notice.text
    assert notice.text.count("````\n") == 2
    reply = await recipient(told, notice)
    assert reply.email == "ann@acme.example"
    assert f"<{PUBLIC}/v1/approvals/" in reply.closing
    assert "rota approvals decide a1" in reply.closing


async def test_the_same_approval_is_told_once(told: Gateway, executor: Executor) -> None:
    await notice_of(told, executor)
    await notice_of(told, executor)
    assert len(told.bus.facts(NOTICE_REQUESTED)) == 1


async def test_no_token_and_no_address_is_in_a_fact(told: Gateway, executor: Executor) -> None:
    path = await link_of(told, executor)
    await told.http.get(path)
    await press(told, path)
    token = path.rpartition("/")[2]
    await told.use.audit.publish()
    published = [each for stream in told.bus.streams.values() for each in stream.history]
    assert published
    assert [each.subject for each in published if token in str(each.data) or "ann@acme" in str(each.data)] == []


async def test_the_log_holds_no_token(told: Gateway, executor: Executor, capsys: pytest.CaptureFixture[str]) -> None:
    path = await link_of(told, executor)
    await told.http.get(path)
    await press(told, path)
    printed = "".join(capsys.readouterr())
    assert "/v1/approvals/…" in printed
    assert path.rpartition("/")[2] not in printed


async def test_nobody_is_told_without_a_manager_or_after_the_time(told: Gateway, executor: Executor) -> None:
    late = datetime.now(UTC) - timedelta(minutes=1)
    for number, (manager, fields) in enumerate(((None, {}), ("bob", {}), ("ann", {"expires_at": late}))):
        waiting = approval(approval_id=f"a{number}", **fields)
        await told.bus.publish(APPROVAL_REQUESTED, requested(waiting, manager), caused_by=waiting.approval_id)
    await told.bus.settled()
    assert told.bus.facts(NOTICE_REQUESTED) == []
    assert told.bus.dead == []


async def test_opening_the_link_shows_the_call_and_changes_nothing(told: Gateway, executor: Executor) -> None:  # DEC-57
    path = await link_of(told, executor)
    for _ in range(3):  # programs that scan mail
        shown = await told.http.get(path)
        assert shown.status_code == 200
    assert "[Approval Required]\nTool: crm.delete_lead\nArgs: {&quot;id&quot;:&quot;&lt;L-1042&gt;&quot;}" in shown.text
    assert 'method="post"' in shown.text
    assert executor.decisions == []
    assert executor.has["a1"].status is ApprovalStatus.PENDING
    assert shown.headers["cache-control"] == "no-store"
    assert "noindex" in shown.headers["x-robots-tag"]
    assert shown.headers["content-security-policy"].startswith("default-src 'none'; form-action 'self'")
    assert shown.headers["referrer-policy"] == "no-referrer"
    assert "<script" not in shown.text


@pytest.mark.parametrize(("decision", "status"), [("approve", "approved"), ("deny", "denied")])
async def test_the_button_decides_once(told: Gateway, executor: Executor, decision: str, status: str) -> None:  # DEC-57
    path = await link_of(told, executor)
    done = await press(told, path, decision)
    assert (done.status_code, f"was {status} by ann" in done.text) == (200, True)
    [taken] = executor.decisions
    assert (taken.team_id, taken.by, taken.decision) == ("acme", "ann", Decision(decision))
    used = await press(told, path, "deny" if decision == "approve" else "approve")
    assert (used.status_code, f"was {status} by ann" in used.text) == (409, True)
    assert len(executor.decisions) == 1
    shown = await told.http.get(path)
    assert (f"was {status} by ann" in shown.text, "<form" in shown.text) == (True, False)
    trail = (await told.call("GET", f"{TEAM}/audit")).json()["entries"]
    [entry] = [each for each in trail if each["action"] == "decide_approval"]
    assert (entry["by"], entry["by_name"], entry["on"]["decision"], entry["member_id"]) == (
        "ann",
        "Ann",
        decision,
        "leader",
    )
    assert path.rpartition("/")[2] not in str(trail)


async def test_a_forged_link_does_nothing(told: Gateway, executor: Executor) -> None:
    path = await link_of(told, executor)
    claims, _, signature = path.rpartition(".")
    for forged in (
        f"{path}x",
        claims,
        f"{claims}.",
        f"{claims[:-1]}.{signature}",
        "/v1/approvals/x",
        "/v1/approvals/ä.ö",
    ):
        for answer in (await told.http.get(forged), await press(told, forged)):
            nothing(executor, answer, 403, "isn&#x27;t valid")


async def test_forging_links_is_limited(executor: Executor, told: Gateway) -> None:
    async with gateway(settings(failed_keys_per_address=3), bus=told.bus, adapters=told.adapters) as replica:
        statuses = [(await replica.http.get(f"/v1/approvals/{number}.x")).status_code for number in range(5)]
    assert statuses == [403, 403, 403, 429, 429]


async def test_a_link_of_another_rota_does_nothing(told: Gateway, executor: Executor) -> None:
    path = await link_of(told, executor)
    async with gateway() as other:
        assert (await other.http.get(path)).status_code in (403, 404)
    async with gateway(adapters=_with_another_key()) as other:
        assert (await other.http.get(path)).status_code == 403


async def test_an_expired_link_does_nothing(told: Gateway, executor: Executor) -> None:
    path = await link_of(told, executor, expires_at=datetime.now(UTC) + timedelta(hours=1))
    later = datetime.now(UTC) + timedelta(hours=1)
    async with gateway(bus=told.bus, adapters=told.adapters, runtime=_at(told, later)) as replica:
        for answer in (await replica.http.get(path), await press(replica, path)):
            nothing(executor, answer, 403, "expired")


async def test_other_arguments_are_not_approved(told: Gateway, executor: Executor) -> None:  # DEC-57
    path = await link_of(told, executor)
    executor.has["a1"] = approval(arguments_sha256=OTHER_SHA)
    for answer in (await told.http.get(path), await press(told, path)):
        nothing(executor, answer, 409, "other arguments")
    assert executor.decisions == []


@pytest.mark.parametrize("how", ["deleted", "elsewhere", "viewer", "another manager"])
async def test_who_may_not_decide_any_more_is_refused(told: Gateway, executor: Executor, how: str) -> None:  # DEC-10
    path = await link_of(told, executor)
    match how:
        case "deleted":
            await told.call("DELETE", f"{MEMBERS}/ann")
        case "elsewhere":
            await told.call("PUT", f"{MEMBERS}/ann", json=ANN | {"email": "ann@new.example"})
        case "viewer":
            await told.call("PUT", f"{MEMBERS}/ann", json=ANN | {"role": "viewer"})
        case _:
            await told.call("POST", MEMBERS, json=ANN | {"member_id": "bob"})
            await told.call("PATCH", LEADER, json={"manager_id": "bob"})
    for answer in (await told.http.get(path), await press(told, path)):
        nothing(executor, answer, 403, "any more")
    assert executor.decisions == []


async def test_an_admin_may_decide_about_every_robot(told: Gateway, executor: Executor) -> None:
    path = await link_of(told, executor)
    await told.call("PUT", f"{MEMBERS}/ann", json=ANN | {"role": "admin"})
    await told.call("PATCH", LEADER, json={"manager_id": None})
    assert (await press(told, path)).status_code == 200


async def test_a_manager_who_may_not_decide_gets_no_link(told: Gateway, executor: Executor) -> None:
    await told.call("PUT", f"{MEMBERS}/ann", json=ANN | {"role": "viewer"})
    closing = (await recipient(told, await notice_of(told, executor))).closing
    assert "http" not in closing
    assert "role admin" in closing


async def test_a_member_who_is_gone_gets_no_mail(told: Gateway, executor: Executor) -> None:
    notice = await notice_of(told, executor)
    await told.call("DELETE", f"{MEMBERS}/ann")
    assert await recipient(told, notice) == RecipientReply()


async def test_without_a_public_address_the_mail_names_the_command() -> None:
    async with gateway() as plain, Executor().running(plain.bus) as executor:
        await managed(plain)
        closing = (await recipient(plain, await notice_of(plain, executor))).closing
        assert ("http" in closing, "rota approvals decide a1" in closing) == (False, True)


@pytest.mark.parametrize("body", ["", "decision=always", "decision=approve&decision=deny", '{"decision":"approve"}'])
async def test_only_the_pages_own_buttons_decide(told: Gateway, executor: Executor, body: str) -> None:
    path = await link_of(told, executor)
    nothing(executor, await told.http.post(path, content=body, headers=FORM), 422, "approve or deny")
    nothing(executor, await told.http.post(path, json={"decision": "approve"}), 422, "approve or deny")


async def test_without_an_executor_the_page_says_so(told: Gateway) -> None:
    async with Executor().running(told.bus) as executor:
        path = await link_of(told, executor)
    away = await told.http.get(path)
    assert (away.status_code, "Not now" in away.text) == (503, True)


async def test_a_failure_is_told_once_and_so_is_the_recovery(told: Gateway) -> None:  # TG-54
    whose: dict[str, Any] = {"team_id": "acme", "member_id": "leader", "execution_id": "e1", "at": datetime.now(UTC)}
    for _ in range(2):
        await told.bus.publish(ROBOT_FAILED, RobotFailedV1(**whose, message="no model"), caused_by="f1")
    await told.bus.publish(ROBOT_RECOVERED, RobotRecoveredV1(**whose), caused_by="f2")
    old = whose | {"at": datetime.now(UTC) - timedelta(days=2)}
    await told.bus.publish(ROBOT_FAILED, RobotFailedV1(**old), caused_by="f3")
    await told.bus.settled()
    failed, recovered = (event.data for event in told.bus.facts(NOTICE_REQUESTED))
    assert (failed.subject, recovered.subject) == ("Lead Processor has failed", "Lead Processor works again")
    assert "no model" in failed.text
    assert await recipient(told, failed) == RecipientReply(email="ann@acme.example")


def _with_another_key() -> Adapters:
    other = base64.urlsafe_b64encode(b"another 32 bytes for another key").decode()
    return in_memory(secrets_key=other)


def _at(told: Gateway, at: datetime) -> Runtime:
    return Runtime(bus=told.bus, fetch_timeout=0.05, clock=lambda: at)
