"""The subscription to calls of agents by teams' programs."""

from nats.aio.msg import Msg

from rota_common.bus.answering import Answer
from rota_common.bus.publishing import room
from rota_common.runtime.service import Service
from rota_contracts.catalog import AGENT_CALLS
from trigger_gateway.agents.answer_calls import AnswerCalls

AT_ONCE = 10_000
"""Requests; what bounds them is each team's share of calls, beyond which it gets a refusal."""


def answer_programs(service: Service, answer: AnswerCalls) -> None:
    """The replicas of the gateway share the requests."""

    async def reply(message: Msg) -> Answer:
        made = await answer(message.subject, message.data, limit=room(service.bus))
        return Answer(made.body, made.headers)

    service.bus.answer(AGENT_CALLS, reply, queue=service.name, workers=AT_ONCE)
