"""Links of mails about approvals: who is notified, what the link shows, what its button does, and what does nothing."""

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
async def public() -> AsyncIterator[Gateway]:
    """A gateway that people reach at PUBLIC."""
    async with gateway(settings(public_url=f"{PUBLIC}/")) as made:
        await managed(made)
        yield made


@pytest_asyncio.fixture
async def executor(public: Gateway) -> AsyncIterator[Executor]:
    async with Executor().running(public.bus) as running:
        yield running


async def recipient(public: Gateway, notice: NoticeRequestedV1) -> RecipientReply:
    """What the delivery-center is answered."""
    given = notice.model_dump(include=set(ReadRecipient.model_fields))
    return await public.bus.ask(READ_RECIPIENT, ReadRecipient.model_validate(given))


async def notice_of(
    public: Gateway, executor: Executor, *, manager: str | None = "ann", **fields: Any
) -> NoticeRequestedV1:
    """The notice about a call that waits from now on."""
    waiting = executor.has[str(fields.get("approval_id", "a1"))] = approval(**fields)
    await public.bus.publish(APPROVAL_REQUESTED, requested(waiting, manager), caused_by=waiting.approval_id)
    await public.bus.settled()
    return public.bus.facts(NOTICE_REQUESTED)[-1].data


async def link_of(public: Gateway, executor: Executor, **fields: Any) -> str:
    """The path of the link that ann is mailed."""
    closing = (await recipient(public, await notice_of(public, executor, **fields))).closing
    return closing.partition("<")[2].partition(">")[0].removeprefix(PUBLIC)


async def press(public: Gateway, path: str, decision: str = "approve") -> httpx.Response:
    return await public.http.post(path, content=f"decision={decision}", headers=FORM)


def nothing(executor: Executor, answer: httpx.Response, status: int, text: str) -> None:
    """The answer says `text`, and the call waits as before."""
    assert (answer.status_code, executor.has["a1"].status) == (status, ApprovalStatus.PENDING), answer.text
    assert text in answer.text
    assert "<form" not in answer.text


async def test_a_robots_manager_is_notified_of_a_call_that_waits(
    public: Gateway, executor: Executor
) -> None:  # TG-54, EX-57
    notice = await notice_of(public, executor, reason="it destroys ``` something", tool="crm.delete_lead")
    assert (notice.recipient, notice.member_id, notice.approval_id) == ("ann", "leader", "a1")
    assert notice.subject == "Approval required: crm.delete_lead (Lead Processor)"
    assert '````\n[Approval Required]\nTool: crm.delete_lead\nArgs: {"id":"<L-1042>"}\n' in notice.text
    assert notice.text.count("````\n") == 2
    reply = await recipient(public, notice)
    assert reply.email == "ann@acme.example"
    assert f"<{PUBLIC}/v1/approvals/" in reply.closing
    assert "rota approvals decide a1" in reply.closing


async def test_the_same_approval_is_notified_once(public: Gateway, executor: Executor) -> None:
    await notice_of(public, executor)
    await notice_of(public, executor)
    assert len(public.bus.facts(NOTICE_REQUESTED)) == 1


async def test_no_token_and_no_address_is_in_a_fact(public: Gateway, executor: Executor) -> None:
    path = await link_of(public, executor)
    await public.http.get(path)
    await press(public, path)
    token = path.rpartition("/")[2]
    await public.use.audit.publish()
    published = [each for stream in public.bus.streams.values() for each in stream.history]
    assert published
    assert [each.subject for each in published if token in str(each.data) or "ann@acme" in str(each.data)] == []


async def test_the_log_holds_no_token(public: Gateway, executor: Executor, capsys: pytest.CaptureFixture[str]) -> None:
    path = await link_of(public, executor)
    await public.http.get(path)
    await press(public, path)
    printed = "".join(capsys.readouterr())
    assert "/v1/approvals/…" in printed
    assert path.rpartition("/")[2] not in printed


async def test_no_notice_goes_out_without_a_manager_or_after_the_time(public: Gateway, executor: Executor) -> None:
    late = datetime.now(UTC) - timedelta(minutes=1)
    for number, (manager, fields) in enumerate(((None, {}), ("bob", {}), ("ann", {"expires_at": late}))):
        waiting = approval(approval_id=f"a{number}", **fields)
        await public.bus.publish(APPROVAL_REQUESTED, requested(waiting, manager), caused_by=waiting.approval_id)
    await public.bus.settled()
    assert public.bus.facts(NOTICE_REQUESTED) == []
    assert public.bus.dead == []


async def test_opening_the_link_shows_the_call_and_changes_nothing(
    public: Gateway, executor: Executor
) -> None:  # DEC-57
    path = await link_of(public, executor)
    for _ in range(3):  # programs that scan mail
        shown = await public.http.get(path)
        assert shown.status_code == 200
    assert "[Approval Required]\nTool: crm.delete_lead\nArgs: {&quot;id&quot;:&quot;&lt;L-1042&gt;&quot;}" in shown.text
    assert 'method="post"' in shown.text
    assert (executor.decisions, executor.has["a1"].status) == ([], ApprovalStatus.PENDING)
    assert shown.headers["cache-control"] == "no-store"
    assert "noindex" in shown.headers["x-robots-tag"]
    assert shown.headers["content-security-policy"].startswith("default-src 'none'; form-action 'self'")
    assert shown.headers["referrer-policy"] == "no-referrer"
    assert "<script" not in shown.text


@pytest.mark.parametrize(("decision", "status"), [("approve", "approved"), ("deny", "denied")])
async def test_the_button_decides_once(
    public: Gateway, executor: Executor, decision: str, status: str
) -> None:  # DEC-57
    path = await link_of(public, executor)
    done = await press(public, path, decision)
    assert (done.status_code, f"was {status} by ann" in done.text) == (200, True)
    [taken] = executor.decisions
    assert (taken.team_id, taken.by, taken.decision) == ("acme", "ann", Decision(decision))
    used = await press(public, path, "deny" if decision == "approve" else "approve")
    assert (used.status_code, f"was {status} by ann" in used.text) == (409, True)
    assert len(executor.decisions) == 1
    shown = await public.http.get(path)
    assert (f"was {status} by ann" in shown.text, "<form" in shown.text) == (True, False)
    trail = (await public.call("GET", f"{TEAM}/audit")).json()["entries"]
    [entry] = [each for each in trail if each["action"] == "decide_approval"]
    assert (entry["by"], entry["by_name"], entry["on"]["decision"], entry["member_id"]) == (
        "ann",
        "Ann",
        decision,
        "leader",
    )
    assert path.rpartition("/")[2] not in str(trail)


async def test_a_forged_link_does_nothing(public: Gateway, executor: Executor) -> None:
    path = await link_of(public, executor)
    claims, _, signature = path.rpartition(".")
    for forged in (
        f"{path}x",
        claims,
        f"{claims}.",
        f"{claims[:-1]}.{signature}",
        "/v1/approvals/x",
        "/v1/approvals/ä.ö",
    ):
        for answer in (await public.http.get(forged), await press(public, forged)):
            nothing(executor, answer, 403, "isn&#x27;t valid")


async def test_forging_links_is_limited(executor: Executor, public: Gateway) -> None:
    async with gateway(settings(failed_keys_per_address=3), bus=public.bus, adapters=public.adapters) as replica:
        answers = [await replica.http.get(f"/v1/approvals/{number}.x") for number in range(5)]
    assert [answer.status_code for answer in answers] == [403, 403, 403, 429, 429]
    assert {answer.headers["content-type"] for answer in answers} == {"text/html; charset=utf-8"}
    assert int(answers[-1].headers["retry-after"]) > 0


async def test_a_link_of_another_rota_does_nothing(public: Gateway, executor: Executor) -> None:
    path = await link_of(public, executor)
    async with gateway() as other:
        assert (await other.http.get(path)).status_code in (403, 404)
    async with gateway(adapters=_with_another_key()) as other:
        assert (await other.http.get(path)).status_code == 403


async def test_an_expired_link_does_nothing(public: Gateway, executor: Executor) -> None:
    path = await link_of(public, executor, expires_at=datetime.now(UTC) + timedelta(hours=1))
    later = datetime.now(UTC) + timedelta(hours=1)
    async with gateway(bus=public.bus, adapters=public.adapters, runtime=_at(public, later)) as replica:
        for answer in (await replica.http.get(path), await press(replica, path)):
            nothing(executor, answer, 403, "expired")


async def test_other_arguments_are_not_approved(public: Gateway, executor: Executor) -> None:  # DEC-57
    path = await link_of(public, executor)
    executor.has["a1"] = approval(arguments_sha256=OTHER_SHA)
    for answer in (await public.http.get(path), await press(public, path)):
        nothing(executor, answer, 409, "other arguments")
    assert executor.decisions == []


@pytest.mark.parametrize("how", ["deleted", "elsewhere", "viewer", "another manager"])
async def test_who_may_not_decide_any_more_is_refused(public: Gateway, executor: Executor, how: str) -> None:  # DEC-10
    path = await link_of(public, executor)
    match how:
        case "deleted":
            await public.call("DELETE", f"{MEMBERS}/ann")
        case "elsewhere":
            await public.call("PUT", f"{MEMBERS}/ann", json=ANN | {"email": "ann@new.example"})
        case "viewer":
            await public.call("PUT", f"{MEMBERS}/ann", json=ANN | {"role": "viewer"})
        case _:
            await public.call("POST", MEMBERS, json=ANN | {"member_id": "bob"})
            await public.call("PATCH", LEADER, json={"manager_id": "bob"})
    for answer in (await public.http.get(path), await press(public, path)):
        nothing(executor, answer, 403, "any more")
    assert executor.decisions == []


async def test_an_admin_may_decide_about_every_robot(public: Gateway, executor: Executor) -> None:
    path = await link_of(public, executor)
    await public.call("PUT", f"{MEMBERS}/ann", json=ANN | {"role": "admin"})
    await public.call("PATCH", LEADER, json={"manager_id": None})
    assert (await press(public, path)).status_code == 200


async def test_a_manager_who_may_not_decide_gets_no_link(public: Gateway, executor: Executor) -> None:
    await public.call("PUT", f"{MEMBERS}/ann", json=ANN | {"role": "viewer"})
    closing = (await recipient(public, await notice_of(public, executor))).closing
    assert "http" not in closing
    assert "role admin" in closing


async def test_a_member_who_is_gone_gets_no_mail(public: Gateway, executor: Executor) -> None:
    notice = await notice_of(public, executor)
    await public.call("DELETE", f"{MEMBERS}/ann")
    assert await recipient(public, notice) == RecipientReply()


async def test_without_a_public_address_the_mail_names_the_command() -> None:
    async with gateway() as plain, Executor().running(plain.bus) as executor:
        await managed(plain)
        closing = (await recipient(plain, await notice_of(plain, executor))).closing
        assert ("http" in closing, "rota approvals decide a1" in closing) == (False, True)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "decision=always",
        "decision=approve&decision=deny",
        '{"decision":"approve"}',
        "decision=approve" + "&a=b" * 9,
    ],
)
async def test_only_the_pages_own_buttons_decide(public: Gateway, executor: Executor, body: str) -> None:
    path = await link_of(public, executor)
    nothing(executor, await public.http.post(path, content=body, headers=FORM), 422, "approve or deny")
    nothing(executor, await public.http.post(path, json={"decision": "approve"}), 422, "approve or deny")


async def test_without_an_executor_the_page_says_so(public: Gateway) -> None:
    async with Executor().running(public.bus) as executor:
        path = await link_of(public, executor)
    away = await public.http.get(path)
    assert (away.status_code, "Not now" in away.text) == (503, True)


async def test_a_failure_is_notified_once_and_so_is_the_recovery(public: Gateway) -> None:  # TG-54
    whose: dict[str, Any] = {"team_id": "acme", "member_id": "leader", "execution_id": "e1", "at": datetime.now(UTC)}
    for _ in range(2):
        await public.bus.publish(ROBOT_FAILED, RobotFailedV1(**whose, message="no model"), caused_by="f1")
    await public.bus.publish(ROBOT_RECOVERED, RobotRecoveredV1(**whose), caused_by="f2")
    old = whose | {"at": datetime.now(UTC) - timedelta(days=2)}
    await public.bus.publish(ROBOT_FAILED, RobotFailedV1(**old), caused_by="f3")
    await public.bus.settled()
    failed, recovered = (event.data for event in public.bus.facts(NOTICE_REQUESTED))
    assert (failed.subject, recovered.subject) == ("Lead Processor has failed", "Lead Processor works again")
    assert "no model" in failed.text
    assert await recipient(public, failed) == RecipientReply(email="ann@acme.example")


def _with_another_key() -> Adapters:
    other = base64.urlsafe_b64encode(b"another 32 bytes for another key").decode()
    return in_memory(secrets_key=other)


def _at(public: Gateway, at: datetime) -> Runtime:
    return Runtime(bus=public.bus, clock=lambda: at)
