"""Calls of agents: one answer as JSON, or its text as server-sent events while it is written."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

from fastapi import Request
from fastapi.responses import JSONResponse, Response
from pydantic import Field
from pydantic_core import to_json
from sse_starlette import ServerSentEvent

from rota_common.bus.live import Events
from rota_common.errors import Transient
from rota_contracts.catalog import ANSWER_PIECE
from rota_contracts.messages.agent import AgentReply, AnswerPieceV1, CallAgent
from rota_contracts.model import Name
from trigger_gateway.agents.agent_request import AgentAnswer, PlainAgentRequest, answer_of
from trigger_gateway.http.auth_routes import CallerDep, team_router
from trigger_gateway.http.counted_stream import CountedStream
from trigger_gateway.http.dependencies import UseCasesDep, idempotency_key, jetstream_of
from trigger_gateway.problems import Problem
from trigger_gateway.use_cases import UseCases

router = team_router("agents")

PIECE, CLEARED, RESULT, FAILED = "piece", "cleared", "result", "error"
"""The events of a streamed answer: a piece of its text; the pieces so far don't count; the whole; there is none."""


class AgentRequest(PlainAgentRequest):
    """A call of an agent. It asks its model once, without tools."""

    stream: bool = Field(default=False, description="the answer as server-sent events")


@router.post(
    "/agents/{agent}/call",
    summary="Call an agent, and wait for its answer",
    response_model=AgentAnswer,
    responses={200: {"content": {"text/event-stream": {}}, "description": "the answer; or its pieces, and then it"}},
)
async def call_agent(
    team: Name, agent: str, body: AgentRequest, request: Request, use: UseCasesDep, caller: CallerDep
) -> Response:
    """With `stream`: events `piece` (`{"piece": 1, "text": …}`), `cleared` (the pieces so far don't count), and at the
    end `result` with the whole answer, or `error`. Errors of the agent are in `error`, with status 200."""
    wanted = body.call(agent, idempotency_key(request.headers, body.request_id))
    wanted = replace(wanted, user=await use.people.person_of(team, caller))
    question = await use.call_agent.prepare(team, wanted, streamed=body.stream)
    if body.stream:
        jetstream_of(use)  # before the response begins: afterwards its status can't change
        if not use.calls.enter(team):
            raise use.calls.refusal()
        return CountedStream(_events(use, question), share=use.calls, team=team, ping=use.heartbeat)
    with use.calls.held(team):
        return JSONResponse(answer_of(question, await use.call_agent.answer(question)).model_dump(mode="json"))


async def _events(use: UseCases, question: CallAgent) -> AsyncIterator[ServerSentEvent]:
    """A repeat of a call that has its answer already gets that answer, without pieces."""
    async with use.live.listen([ANSWER_PIECE], team=question.team_id, member=question.member_id) as heard:
        answering = asyncio.create_task(use.call_agent.answer(question))
        try:
            async for piece in _heard(heard, question, answering):
                yield piece
            yield _ended(question, answering)
        finally:  # the executor goes on: its answer is kept for a repeat
            answering.add_done_callback(lambda done: done.cancelled() or done.exception())
            answering.cancel()


async def _heard(
    heard: Events, question: CallAgent, answering: "asyncio.Task[AgentReply]"
) -> AsyncIterator[ServerSentEvent]:
    """The pieces of its answer, until that is whole."""
    while not answering.done():
        hearing = asyncio.create_task(heard.next())
        await asyncio.wait([answering, hearing], return_when=asyncio.FIRST_COMPLETED)
        if not hearing.done():
            hearing.cancel()
        elif (piece := hearing.result().data).call_id == question.call_id:
            yield _piece(piece)


def _piece(heard: AnswerPieceV1) -> ServerSentEvent:
    if heard.piece == 0:
        return ServerSentEvent(event=CLEARED, data="{}")
    return ServerSentEvent(event=PIECE, data=to_json({"piece": heard.piece, "text": heard.text}).decode())


def _ended(question: CallAgent, answering: "asyncio.Task[AgentReply]") -> ServerSentEvent:
    try:
        answer = answer_of(question, answering.result())
    except (Problem, Transient) as error:
        text = error.message if isinstance(error, Problem) else "the executor doesn't answer now"
        return ServerSentEvent(event=FAILED, data=to_json({"message": text}).decode())
    return ServerSentEvent(event=RESULT, data=answer.model_dump_json())
