"""Calls of agents: one answer as JSON, or its text as server-sent events while it is written."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

from fastapi import Request
from fastapi.responses import JSONResponse, Response
from pydantic import Field
from pydantic_core import to_json
from sse_starlette import ServerSentEvent

from rota_common.errors import Transient
from rota_contracts.messages.agent import AgentReply, AnswerPieceV1, CallAgent
from rota_contracts.model import Name
from trigger_gateway.agents.agent_request import AgentAnswer, PlainAgentRequest, answer_of
from trigger_gateway.agents.stream_answer import stream_answer
from trigger_gateway.http.auth_routes import CallerDep, team_router
from trigger_gateway.http.counted_stream import CountedStream
from trigger_gateway.http.dependencies import UseCasesDep, idempotency_key, jetstream_of
from trigger_gateway.problems import Problem
from trigger_gateway.use_cases import UseCases

router = team_router("agents")

PIECE, CLEARED, RESULT, FAILED = "piece", "cleared", "result", "error"
"""The events of a streamed answer: a piece of its text; the pieces so far don't count; the whole; there is none."""


class AgentRequest(PlainAgentRequest):
    """A call of an agent."""

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
    try:
        async with aclosing(stream_answer(use.live, use.call_agent, question)) as answer:
            async for each in answer:
                if isinstance(each, AgentReply):
                    yield ServerSentEvent(event=RESULT, data=answer_of(question, each).model_dump_json())
                else:
                    yield _piece(each)
    except (Problem, Transient) as error:
        text = error.message if isinstance(error, Problem) else "the executor doesn't answer now"
        yield ServerSentEvent(event=FAILED, data=to_json({"message": text}).decode())


def _piece(heard: AnswerPieceV1) -> ServerSentEvent:
    if heard.piece == 0:
        return ServerSentEvent(event=CLEARED, data="{}")
    return ServerSentEvent(event=PIECE, data=to_json({"piece": heard.piece, "text": heard.text}).decode())
