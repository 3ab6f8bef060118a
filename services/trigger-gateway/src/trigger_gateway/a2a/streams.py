"""The streams of the protocol: a task as it begins, then each change of it, until it is over or waits for a person."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Any

from rota_common.bus.live import Events
from rota_contracts.catalog import ACTIVITY, EXECUTION_FINISHED, EXECUTION_PARKED, EXECUTION_STARTED, Channel
from rota_contracts.messages.agent import AgentReply, AnswerPieceV1, CallAgent
from trigger_gateway.a2a.shapes import Shape, TaskState, agent_message, data_part, text_part
from trigger_gateway.a2a.tasks import RESULT
from trigger_gateway.teams.shares import OpenRequests

CLOSING = (
    *(TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED, TaskState.REJECTED),
    TaskState.INPUT_REQUIRED,
)
"""A stream ends with a task of one of these states."""

CHANNELS: Sequence[Channel[Any]] = [ACTIVITY, EXECUTION_STARTED, EXECUTION_PARKED, EXECUTION_FINISHED]


@dataclass(frozen=True)
class Stream:
    """`results`, one of which is in each response. It has taken a place in `share`, which it leaves at its end."""

    share: OpenRequests
    results: AsyncGenerator[Shape]


@contextmanager
def opening(share: OpenRequests, team: str) -> Iterator[None]:
    """Take a place for a stream, which is given back if it doesn't begin. Raise TooMany if the team has its share."""
    if not share.enter(team):
        raise share.refusal()
    try:
        yield
    except BaseException:
        share.leave(team)
        raise


async def of_answer(question: CallAgent, answer: AsyncGenerator[AnswerPieceV1 | AgentReply]) -> AsyncGenerator[Shape]:
    """The call of an agent as a task of its own: what is written so far is an artifact, to which the pieces are added;
    one that begins anew, and the whole answer at the end, take its place."""
    of: Shape = {"taskId": question.call_id, "contextId": question.chat_id or ""}
    at_work: Shape = {"state": TaskState.WORKING}
    yield {"task": {"id": question.call_id, "contextId": question.chat_id or "", "status": at_work}}
    added = False
    async with aclosing(answer):
        async for each in answer:
            if isinstance(each, AgentReply):
                if each.error:
                    said = agent_message(f"{question.call_id}-error", [text_part(each.error)], task_id=question.call_id)
                    yield {"statusUpdate": {**of, "status": {"state": TaskState.FAILED, "message": said}}}
                    return
                parts = [text_part(each.content)]
                if (response := each.whole_response()) is not None:
                    parts.append(data_part(response))
                yield _artifact(of, {"artifactId": RESULT, "name": RESULT, "parts": [*parts]}, last=True)
                yield {"statusUpdate": {**of, "status": {"state": TaskState.COMPLETED}}}
            elif each.piece == 0:
                added = False
            else:
                yield _artifact(of, {"artifactId": RESULT, "parts": [text_part(each.text)]}, append=added)
                added = True


async def of_task(first: Shape, tasks: AsyncGenerator[Shape]) -> AsyncGenerator[Shape]:
    """The task `first`, and what is new in each of `tasks`: the same one, later."""
    yield {"task": first}
    shown = first
    if _state(shown) in CLOSING:
        return
    async with aclosing(tasks):
        async for task in tasks:
            of: Shape = {"taskId": first["id"], "contextId": first["contextId"]}
            artifacts: Any = task.get("artifacts", [])
            for artifact in artifacts if artifacts != shown.get("artifacts", []) else ():
                yield _artifact(of, artifact, last=True)
            if task["status"] != shown["status"]:
                yield {"statusUpdate": {**of, "status": task["status"]}}
            shown = task
            if _state(shown) in CLOSING:
                return


async def heard_of(heard: Events, execution_id: str, *, within: float) -> None:
    """Return at the next event of this run, or after so many seconds: an event may be lost."""
    try:
        async with asyncio.timeout(within):
            while (await heard.next()).data.execution_id != execution_id:
                pass
    except TimeoutError:
        pass


def _state(task: Shape) -> str:
    status: Any = task["status"]
    return str(status["state"])


def _artifact(of: Shape, artifact: Shape, *, append: bool = False, last: bool = False) -> Shape:
    return {"artifactUpdate": {**of, "artifact": artifact, "append": append, "lastChunk": last}}
