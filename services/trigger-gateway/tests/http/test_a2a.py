"""Agents and robots as agents of the A2A protocol, for the official client."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import httpx
import pytest
from a2a.client import A2ACardResolver, Client, ClientConfig, create_client
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskNotCancelableError,
    TaskNotFoundError,
    TaskState,
    UnsupportedOperationError,
)

from rota_contracts.catalog import ACTIVITY, ANSWER_PIECE, LIST_APPROVALS
from rota_contracts.messages.activity import ActivityKind, ActivityV1
from rota_contracts.messages.agent import AgentReply, AnswerPieceV1, CallAgent
from rota_contracts.messages.approval import ApprovalPage, ListApprovals
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.run_history import PendingQuestion
from rota_contracts.messages.trigger import TriggerType

from .asgi import Live, streaming
from .harness import Gateway, error_of
from .scheduler import Scheduler
from .stand_ins import AT, Executor
from .test_mcp import play_agents

VERSION = {"a2a-version": "1.0", "content-type": "application/json"}
SAID: dict[str, Any] = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "Score the leads."}]}
KEEPER, LEADER = "yao.keeper", "leader"


def url_of(name: str, team: str = "acme") -> str:
    return f"/v1/teams/{team}/a2a/{name}"


@asynccontextmanager
async def client(made: Gateway, name: str, *, key: str = "", streaming: bool = False) -> AsyncIterator[Client]:
    """The official client, which reads the card first. It asks for tasks at once, or for what becomes of them."""
    headers = {"authorization": f"Bearer {key or made.key}"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(made.fastapi), headers=headers) as http:
        card = await A2ACardResolver(http, f"http://gateway{url_of(name)}").get_agent_card()
        yield await create_client(card, ClientConfig(httpx_client=http, polling=True, streaming=streaming))


def message(text: str, **more: Any) -> SendMessageRequest:
    said = Message(message_id=more.pop("message_id", uuid4().hex), role=Role.ROLE_USER, parts=[Part(text=text)], **more)
    return SendMessageRequest(message=said)


async def sent(to: Client, request: SendMessageRequest) -> StreamResponse:
    [response] = [each async for each in to.send_message(request)]
    return response


async def test_an_agent_answers_with_a_message_in_its_conversation(acme: Gateway) -> None:  # CL-28
    calls = play_agents(acme)
    async with client(acme, KEEPER) as keeper:
        response = await sent(keeper, message("Classify this.", context_id="c1", message_id="m1"))
        again = await sent(keeper, message("Classify this.", context_id="c1", message_id="m1"))
        hooked = await sent(keeper, message("With a hook."))
        with pytest.raises(Exception, match="agent yao.keeper has no answer: the model says no"):
            await sent(keeper, message("Please fail."))
        with pytest.raises(TaskNotFoundError):
            await sent(keeper, message("Go on.", task_id="t1"))
    answer = response.message
    assert [answer.parts[0].text, answer.context_id, answer.role] == ['{"kind": "bill"}', "c1", Role.ROLE_AGENT]
    assert dict(answer.parts[1].data.struct_value) == {"kind": "bill"}
    assert dict(hooked.message.parts[1].data.struct_value)["next"] == {"sure": True}
    assert again == response
    assert [(each.chat_id, each.messages[0].text()) for each in calls[:2]] == [("c1", "Classify this.")] * 2
    assert calls[0].call_id == calls[1].call_id, "a repeat is the same call"


async def test_a_robot_works_on_a_task_asks_and_is_cancelled(
    acme: Gateway, scheduler: Scheduler, executor: Executor
) -> None:
    play_agents(acme)
    acme.bus.answer(LIST_APPROVALS, no_approvals)
    async with client(acme, LEADER) as leader:
        first, again = [(await sent(leader, message("Score the leads.", message_id="m1"))).task for _ in range(2)]
        assert (first.id, first.status.state) == (again.id, TaskState.TASK_STATE_SUBMITTED)
        [trigger] = {each.trigger_id: each for each in acme.triggers()}.values()
        assert (trigger.type, trigger.input.messages[0].text()) == (TriggerType.HUMAN, "Score the leads.")

        executor.give(first.id)
        assert await state_of(leader, first) == TaskState.TASK_STATE_WORKING
        asked = PendingQuestion(question="Which leads?", asked_at=AT)
        executor.has[0] = executor.has[0].model_copy(update={"status": ExecStatus.WAITING, "question": asked})
        waiting = await leader.get_task(GetTaskRequest(id=first.id))
        assert waiting.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
        assert waiting.status.message.parts[0].text == "Which leads?"
        answered = (await sent(leader, message("Those of May.", task_id=first.id))).task
        assert answered.status.state == TaskState.TASK_STATE_WORKING, "its answer is in the inbox"
        [word] = executor.words
        assert (word.execution_id, word.messages[0].text()) == (first.id, "Those of May.")

        over = await leader.cancel_task(CancelTaskRequest(id=first.id))
        assert over.status.state == TaskState.TASK_STATE_CANCELED
        newest = (await acme.call("GET", "/v1/teams/acme/audit")).json()["entries"][0]
        assert (newest["action"], newest["on"]["execution_id"]) == ("stop_execution", first.id)
        executor.has[0] = executor.has[0].model_copy(update={"status": ExecStatus.CANCELLED})
        with pytest.raises(TaskNotCancelableError):
            await leader.cancel_task(CancelTaskRequest(id=first.id))
        with pytest.raises(UnsupportedOperationError, match="is over"):
            await sent(leader, message("And those of June.", task_id=first.id))
        next_one = (await sent(leader, message("And those of June.", context_id=first.context_id))).task
        assert (next_one.context_id, next_one.id != first.id) == (first.id, True)
        assert acme.triggers()[-1].input.follows == first.id


async def test_a_wait_takes_a_place_in_the_teams_share_before_anything_begins(acme: Gateway) -> None:
    play_agents(acme)
    said = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "Score the leads."}]}
    request = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": said}}
    while acme.use.streams.enter("acme"):
        pass
    answer = await acme.call("POST", url_of(LEADER), json=request, headers={"A2A-Version": "1.0"})
    error = answer.json()["error"]
    assert (error["code"], error["data"][0]["reason"]) == (-32000, "SHARE_USED")
    assert acme.triggers() == []


async def no_approvals(_: ListApprovals) -> ApprovalPage:
    return ApprovalPage(approvals=[])


async def state_of(to: Client, task: Task) -> int:
    return (await to.get_task(GetTaskRequest(id=task.id))).status.state


async def test_only_what_is_offered_has_a_card_and_only_tasks_of_that_robot_are_known(
    acme: Gateway, scheduler: Scheduler, executor: Executor
) -> None:
    play_agents(acme)
    viewer = await acme.make_key("viewer")
    await acme.make_robot("shy", triggers={"intervene": {"enabled": False}})
    await acme.make_robot("other")
    executor.give("e1")
    for name, key, status in (
        *((KEEPER, viewer, 200), (LEADER, viewer, 200), (KEEPER, "wrong", 401)),
        *(("hidden", viewer, 404), ("shy", viewer, 404), ("unknown", viewer, 404)),
    ):
        card = await acme.call("GET", f"{url_of(name)}/.well-known/agent-card.json", key=key)
        assert card.status_code == status, name
    request = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "e1"}}
    version = {"A2A-Version": "1.0"}
    refused = await acme.call("POST", url_of(LEADER), key=viewer, json=request, headers=version)
    assert error_of(refused) == (403, "role_too_low")
    async with client(acme, LEADER) as leader:
        assert (await leader.get_task(GetTaskRequest(id="e1"))).id == "e1"
    for name in ("other", KEEPER):
        answer = await acme.call("POST", url_of(name), json=request, headers=version)
        assert answer.json()["error"]["code"] == -32001, name


async def test_what_is_wrong_gets_an_error_of_the_protocol(acme: Gateway) -> None:
    """What isn't JSON is refused as everywhere in the API."""
    play_agents(acme)
    part: dict[str, Any] = {"parts": [{"text": "Hello?"}]}
    said = {"messageId": "m1", "role": "ROLE_USER", **part}

    def calling(method: str, **params: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": "a", "method": method, "params": params}

    cases: list[tuple[Any, str, int, str]] = [
        ([], "1.0", -32600, "expected one request"),
        ({"method": "GetTask"}, "1.0", -32600, "expected one request"),
        (calling("SendMessage", message=said), "", -32009, "not none, which means 0.3"),
        (calling("SendMessage", message=said), "0.3", -32009, "A2A-Version: 1.0"),
        (calling("message/send", message=said), "1.0", -32601, "not message/send"),
        (calling("ListTasks"), "1.0", -32004, "isn't supported"),
        (calling("SubscribeToTask", id="t1"), "1.0", -32001, "there is no task t1"),
        (calling("SendStreamingMessage", message={**said, "taskId": "t1"}), "1.0", -32001, "there is no task t1"),
        (calling("SendStreamingMessage"), "1.0", -32602, "message: Field required"),
        (calling("CreateTaskPushNotificationConfig"), "1.0", -32003, "nothing is pushed"),
        (calling("SendMessage"), "1.0", -32602, "message: Field required"),
        (calling("SendMessage", message=part), "1.0", -32602, "message.messageId: Field required"),
        (calling("SendMessage", message={**said, "role": "ROLE_AGENT"}), "1.0", -32602, "expected ROLE_USER"),
        (calling("SendMessage", message={**said, "parts": [{"text": ""}]}), "1.0", -32602, "at least one message"),
        (calling("SendMessage", message={**said, "parts": [{"raw": "aGk="}]}), "1.0", -32005, "text or data"),
        (
            calling("SendMessage", message=said, configuration={"taskPushNotificationConfig": {"url": "x"}}),
            *("1.0", -32003, "GetTask"),
        ),
    ]
    wrong = []
    for body, version, code, words in cases:
        answer = await acme.call("POST", url_of(KEEPER), json=body, headers={"A2A-Version": version})
        error = answer.json().get("error", {})
        if (answer.status_code, error.get("code")) != (200, code) or words not in error.get("message", ""):
            wrong.append((body, version, answer.text))
    assert not wrong
    for content, kind in ((b"{", "application/json"), (b"hello", "text/plain")):
        refused = await acme.call("POST", url_of(KEEPER), content=content, headers={"content-type": kind})
        assert error_of(refused) == (400, "malformed_json")


async def test_an_agents_answer_is_a_task_whose_artifact_grows(acme: Gateway) -> None:  # CL-28
    calls, go = list[CallAgent](), asyncio.Event()

    async def answer(call: CallAgent) -> AgentReply:
        calls.append(call)
        for piece, text in ((1, "Draft."), (0, ""), (1, "One. "), (2, "Two. ")):
            of = {"team_id": call.team_id, "member_id": call.member_id, "call_id": call.call_id}
            await acme.bus.publish(ANSWER_PIECE, AnswerPieceV1(**of, piece=piece, text=text), caused_by="it")
        await go.wait()
        if "fail" in call.messages[0].text():
            return AgentReply(agent_id=call.assistant_id, error="the model says no")
        return AgentReply(agent_id=call.assistant_id, content="One. Two.")

    play_agents(acme, answer)
    body = {"jsonrpc": "2.0", "id": 7, "method": "SendStreamingMessage", "params": {"message": SAID}}
    given = {"headers": VERSION, "body": json.dumps(body).encode()}
    async with streaming(acme, "POST", url_of(KEEPER), **given) as live:
        seen = [(await live.next())[1] for _ in range(4)]
        assert [each["id"] for each in seen] == [7] * 4
        task = seen[0]["result"]["task"]
        updates = [each["result"]["artifactUpdate"] for each in seen[1:]]
        assert [(each["artifact"]["parts"][0]["text"], each["append"]) for each in updates] == [
            *(("Draft.", False), ("One. ", False), ("Two. ", True))
        ]
        assert {each["taskId"] for each in updates} == {task["id"]} == {calls[0].call_id}
    assert acme.use.calls._open == {}, "who leaves frees the place"
    go.set()
    async with client(acme, KEEPER, streaming=True) as keeper:
        events = [each async for each in keeper.send_message(message("Classify this."))]
        failed = [each async for each in keeper.send_message(message("Please fail."))]
    assert events[0].task.status.state == TaskState.TASK_STATE_WORKING
    assert (events[-2].artifact_update.artifact.parts[0].text, events[-2].artifact_update.last_chunk) == (
        *("One. Two.", True),
    )
    assert events[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
    assert failed[-1].status_update.status.state == TaskState.TASK_STATE_FAILED
    assert failed[-1].status_update.status.message.parts[0].text == "the model says no"


def body(method: str, params: dict[str, Any]) -> dict[str, Any]:
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return {"headers": VERSION, "body": json.dumps(call).encode()}


async def test_a_robots_task_is_followed_until_it_asks_and_until_it_is_over(
    acme: Gateway, scheduler: Scheduler, executor: Executor
) -> None:
    play_agents(acme)
    acme.bus.answer(LIST_APPROVALS, no_approvals)

    async def moved(**changes: Any) -> None:
        executor.has[0] = executor.has[0].model_copy(update=changes)
        of = {"execution_id": task["id"], "team_id": "acme", "member_id": LEADER}
        seen = ActivityV1(**of, kind=ActivityKind.TASK_STARTED, phase="run", text="x", at=AT)
        await acme.bus.publish(ACTIVITY, seen, caused_by="e1")

    async with streaming(acme, "POST", url_of(LEADER), **body("SendStreamingMessage", {"message": SAID})) as live:
        task = (await live.next())[1]["result"]["task"]
        assert task["status"]["state"] == "TASK_STATE_SUBMITTED"
        executor.give(task["id"])
        await moved()
        assert await state_in(live) == "TASK_STATE_WORKING"
        await moved(status=ExecStatus.WAITING, question=PendingQuestion(question="Which?", asked_at=AT))
        assert await state_in(live) == "TASK_STATE_INPUT_REQUIRED"
        await live.end()
    assert acme.use.streams._open == {}
    answer = {"message": {**SAID, "messageId": "m2", "taskId": task["id"]}}
    async with (
        streaming(acme, "POST", url_of(LEADER), **body("SendStreamingMessage", answer)) as live,
        streaming(acme, "POST", url_of(LEADER), **body("SubscribeToTask", {"id": task["id"]})) as other,
    ):
        assert (await live.next())[1]["result"]["task"]["status"]["state"] == "TASK_STATE_WORKING"
        assert (await other.next())[1]["result"]["task"]["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        await moved(status=ExecStatus.FAILED, question=None, error="no such leads")
        assert await state_in(live) == "TASK_STATE_FAILED"
        await live.end()
    async with client(acme, LEADER, streaming=True) as leader:
        with pytest.raises(UnsupportedOperationError, match="is over"):
            _ = [each async for each in leader.subscribe(SubscribeToTaskRequest(id=task["id"]))]


async def test_a_stream_beyond_the_teams_share_is_refused(acme: Gateway) -> None:
    play_agents(acme)
    while acme.use.streams.enter("acme"):
        pass
    asked = body("SubscribeToTask", {"id": "e1"})
    full = await acme.call("POST", url_of(LEADER), content=asked["body"], headers=asked["headers"])
    assert full.json()["error"]["data"][0]["reason"] == "SHARE_USED"


async def state_in(live: Live) -> str:
    _, event = await live.next()
    return str(event["result"]["statusUpdate"]["status"]["state"])
