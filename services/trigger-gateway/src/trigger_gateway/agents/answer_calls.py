"""Calls of agents by a team's programs, over NATS: the same as over HTTP, with a whole answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import ValidationError
from pydantic_core import to_json

from rota_common.errors import Transient
from rota_common.runtime.logs import logger
from rota_contracts.catalog import AGENT_CALLS
from rota_contracts.messages.process import ERROR, ERROR_CODE
from trigger_gateway.agents.agent_request import AgentAnswer, PlainAgentRequest, answer_of
from trigger_gateway.agents.ask_agent import AskAgent
from trigger_gateway.problems import STATUS, FieldProblem, Malformed, NotFound, Problem, error_body, invalid
from trigger_gateway.teams.ports import Teams

BEFORE_TEAM = AGENT_CALLS.index("*")


@dataclass(frozen=True)
class Reply:
    """As NATS services reply: the body and headers, of which two say an error."""

    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class AnswerCalls:
    """The right to call is that to publish on the team's subject, which the NATS server gives to chosen clients of the
    team's account. `outages`: the errors of a store that is away."""

    ask: AskAgent
    teams: Teams
    outages: tuple[type[Exception], ...]

    @property
    def _passing(self) -> tuple[type[Exception], ...]:
        return (Transient, *self.outages)

    async def __call__(self, subject: str, body: bytes, *, limit: int) -> Reply:
        """Never raises: what is wrong is in the reply, in the API's form. `limit`: bytes that it may have."""
        try:
            reply = Reply((await self._answer(subject, body)).model_dump_json().encode())
        except Problem as problem:
            return _refused(STATUS[type(problem)], problem.code, problem.message, problem.fields)
        except self._passing:
            return _refused(503, "unavailable", "a part of Rota is unavailable: send it again")
        except Exception as bug:  # the program must get a reply, or it would wait for its timeout
            logger(service="trigger-gateway").exception("a call over NATS failed")
            return _refused(500, "failed", f"the call failed: {type(bug).__name__}")
        if len(reply.body) > limit:
            return _refused(413, "too_large", f"the answer has {len(reply.body)} bytes, a message {limit}: use HTTP")
        return reply

    async def _answer(self, subject: str, body: bytes) -> AgentAnswer:
        team, _, agent = subject[BEFORE_TEAM:].partition(".")
        try:
            asked = PlainAgentRequest.model_validate_json(body)
        except ValidationError as error:
            if any(each["type"] == "json_invalid" for each in error.errors()):
                raise Malformed("malformed_json", "the body is not JSON") from error
            raise invalid("invalid_request", "the request is not valid", error) from error
        if not await self.teams.exists(team):
            raise NotFound("not_found", f"there is no team {team}")
        return answer_of(*await self.ask.reply(team, asked.call(agent, asked.request_id)))


def _refused(status: int, code: str, message: str, fields: Sequence[FieldProblem] = ()) -> Reply:
    return Reply(
        to_json(error_body(code, message, fields)), {ERROR_CODE: str(status), ERROR: " ".join(message.split())}
    )
