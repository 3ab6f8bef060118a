"""Answers a message at once as a robot: system prompt and message, no tools."""

from dataclasses import dataclass, field

from pydantic import BaseModel

from rota_common.errors import Permanent
from rota_contracts.ids import derived_id
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.trigger import Message
from rota_contracts.robots.robot import Robot, RobotStatus
from trigger_gateway.problems import Conflict, Failed, Malformed, redacted
from trigger_gateway.robots.find_robot import find_robot
from trigger_gateway.robots.ports import RobotRecords
from trigger_gateway.runs.guard_input import GuardInput
from trigger_gateway.runs.ports import Requests
from trigger_gateway.webhooks.inbound_event import InboundEvent
from trigger_gateway.webhooks.ports import Agents

AGENT = "rota.message"
WITHIN_S = 60
"""Timeout of the agent's answer, in seconds."""


class _StoredReply(BaseModel):
    """The recorded outcome of a message. `failed` counts the attempts without an answer."""

    answered: bool = False
    response: str = ""
    model: str = ""
    failed: int = 0


@dataclass(frozen=True)
class MessageReply:
    response: str
    model: str
    repeated: bool = False


@dataclass(frozen=True, kw_only=True)
class AnswerMessage:
    robots: RobotRecords
    agents: Agents
    requests: Requests
    guard: GuardInput = field(default_factory=GuardInput)

    async def __call__(self, event: InboundEvent, member: str, digest: str) -> MessageReply:
        """`digest` is the body's. A repeat, found by its event's id, gets the stored answer.

        Raise Malformed for what isn't a message, Conflict for another body under the same id and for a robot that is
        switched off, Failed when the agent can't answer, Transient when there is no answer in time.
        """
        text = event.data.get("message")
        if not isinstance(text, str) or not text.strip():
            raise Malformed("malformed_message", 'expected a body like {"message": "What is due today?"}')
        robot = await self._robot(event.team, member)
        message_id = derived_id("message", event.team, event.source, event.id)
        stored = await self._stored(message_id, digest)
        if stored.answered:
            return MessageReply(stored.response, stored.model, repeated=True)
        self.guard.check(event.team, [member], text)
        # The executor keeps every answer, failures too: after one, the next try is another call.
        answer = await self._ask(robot, derived_id("call", message_id, str(stored.failed)), self.guard.cut_text(text))
        if answer.error:
            await self.requests.note(message_id, _StoredReply(failed=stored.failed + 1).model_dump_json())
            raise Failed("no_answer", f"the robot can't answer: {redacted(answer.error)}")
        given = _StoredReply(answered=True, response=answer.content, model=answer.model)
        await self.requests.note(message_id, given.model_dump_json())
        return MessageReply(given.response, given.model)

    async def _robot(self, team: str, member: str) -> Robot:
        record = await find_robot(self.robots, team, member)
        status = record.robot.robot_status
        if status in (RobotStatus.PAUSED, RobotStatus.MAINTENANCE):
            raise Conflict("robot_off", f"robot {member} is set to {status}: it answers when it is idle again")
        if not record.robot.autonomous_mode:
            raise Conflict("robot_off", f"robot {member} doesn't run on events: its autonomous_mode is off")
        if not record.robot.robot_config.triggers.event.enabled:
            raise Conflict("robot_off", f"robot {member} doesn't accept events: its triggers.event is off")
        return record.robot

    async def _stored(self, message_id: str, digest: str) -> _StoredReply:
        first = await self.requests.remember(message_id, digest)
        if first is not None and first.digest != digest:
            raise Conflict("event_id_reused", "this id came with another message before: an id names one for 30 days")
        return _StoredReply.model_validate_json(first.answer) if first and first.answer else _StoredReply()

    async def _ask(self, robot: Robot, call_id: str, text: str) -> AgentReply:
        call = CallAgent(
            call_id=call_id,
            team_id=robot.team_id,
            member_id=robot.member_id,
            assistant_id=AGENT,
            messages=[Message(role="user", content=text)],
            timeout=WITHIN_S,
        )
        try:
            return await self.agents.answer(call)
        except Permanent as error:
            return AgentReply(agent_id=AGENT, error=str(error))
