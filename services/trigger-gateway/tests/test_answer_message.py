"""Messages that a robot answers at once: repeats and failures."""

from datetime import UTC, datetime
from typing import Any

import pytest

from rota_common.errors import Permanent, Transient
from rota_contracts.messages.agent import AgentReply
from rota_contracts.robots.robot import Robot
from trigger_gateway.adapters import in_memory_stores, scripted
from trigger_gateway.problems import Conflict, Failed, Malformed, NotFound, redacted
from trigger_gateway.robots.record import RobotRecord
from trigger_gateway.webhooks.answer_message import AnswerMessage, MessageReply
from trigger_gateway.webhooks.inbound_event import InboundEvent

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


class Harness:
    """A team with the robot `assistant`, and an agent that answers as the test says."""

    def __init__(self) -> None:
        self.robots, self.agents = in_memory_stores.InMemoryRobots(), scripted.ScriptedAgents()
        self.requests = in_memory_stores.InMemoryRequests()
        self._answer = AnswerMessage(robots=self.robots, agents=self.agents, requests=self.requests)

    async def robot(self, **fields: Any) -> None:
        given = {"team_id": "acme", "member_id": "assistant", "robot_config": {"identity": {"role": "Help"}}}
        await self.robots.insert(RobotRecord(Robot.model_validate(given | fields), AT))

    async def __call__(
        self, message: Any = "Hello?", *, event_id: str = "m1", digest: str = "d", robot: str = "assistant"
    ) -> MessageReply:
        event = InboundEvent("acme", "chat", event_id, None, {"message": message}, AT)
        return await self._answer(event, robot, digest)


@pytest.fixture
async def harness() -> Harness:
    made = Harness()
    await made.robot()
    return made


async def test_a_message_is_answered_by_the_robots_agent(harness: Harness) -> None:  # TG-34
    assert await harness() == MessageReply("Hello.", "rehearsal")
    [call] = harness.agents.calls
    assert (call.team_id, call.member_id, call.assistant_id) == ("acme", "assistant", "rota.message")
    assert [(each.role, each.content) for each in call.messages] == [("user", "Hello?")]


async def test_a_repeat_gets_the_stored_answer(harness: Harness) -> None:  # TG-31
    await harness()
    harness.agents.says = AgentReply(agent_id="rota.message", content="Something else.", model="m")
    assert await harness() == MessageReply("Hello.", "rehearsal", repeated=True)
    assert await harness(event_id="m2") == MessageReply("Something else.", "m")
    with pytest.raises(Conflict) as caught:
        await harness("Another?", digest="e")
    assert caught.value.code == "event_id_reused"
    assert len(harness.agents.calls) == 2


@pytest.mark.parametrize("message", [None, 5, "", "  ", ["hello"], {"text": "hello"}])
async def test_a_body_without_a_message_is_refused(harness: Harness, message: Any) -> None:  # TG-32, DEC-6
    with pytest.raises(Malformed, match="message"):
        await harness(message)
    assert await harness(digest="another") == MessageReply("Hello.", "rehearsal")


async def test_a_failure_is_reported_without_credentials_and_may_be_retried(
    harness: Harness,
) -> None:  # TG-35
    problem = "connector openai: /etc/rota/openai.yaml says key=sk-abcdef123456 for https://user:pw@proxy:8080/v1"
    harness.agents.says = AgentReply(agent_id="rota.message", error=problem)
    with pytest.raises(Failed) as caught:
        await harness()
    assert caught.value.message == (
        "the robot can't answer: connector openai: [REDACTED] says key=[REDACTED] for [REDACTED]"
    )
    harness.agents.says = AgentReply(agent_id="rota.message", content="Now.", model="m")
    assert await harness() == MessageReply("Now.", "m")
    first, second = harness.agents.calls
    assert first.call_id != second.call_id  # or the executor would give its stored failure again


async def test_a_pending_answer_is_asked_for_under_the_same_id(harness: Harness) -> None:
    harness.agents.fails = Transient("no agent")
    with pytest.raises(Transient):
        await harness()
    harness.agents.fails = Permanent("no")
    with pytest.raises(Failed):
        await harness()
    first, second = harness.agents.calls
    assert first.call_id == second.call_id


@pytest.mark.parametrize(
    "switched",
    [
        {"robot_status": "paused"},
        {"autonomous_mode": False},
        {"robot_config": {"identity": {"role": "x"}, "triggers": {"event": {"enabled": False}}}},
    ],
)
async def test_a_disabled_robot_answers_no_message(switched: dict[str, Any]) -> None:  # TG-03
    harness = Harness()
    await harness.robot(**switched)
    with pytest.raises(Conflict, match="assistant"):
        await harness()
    assert harness.agents.calls == []


async def test_a_missing_robot_answers_no_message(harness: Harness) -> None:
    with pytest.raises(NotFound):
        await harness(robot="missing")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/etc/passwd", "[REDACTED]"),
        ("~/.ssh/id_rsa", "[REDACTED]"),
        ("../secrets/key.pem", "[REDACTED]"),
        ("C:\\Users\\ada\\key.txt", "[REDACTED]"),
        ("mongodb://rota:pw@db:27017/x", "[REDACTED]"),
        ('{"url": "https://a.example/x", "a": [1]},', '{"url": "[REDACTED]", "a": [1]},'),
        ("Bearer eyJhbGciOi", "Bearer [REDACTED]"),
        ("api_key=abc", "api_key=[REDACTED]"),
        ("password: hunter2", "password: [REDACTED]"),
        ('{"token": "abc", "a": 1}', '{"token": "[REDACTED]", "a": 1}'),
        ("secret='two words'", "secret='[REDACTED]'"),
        ("Authorization: Bearer abc", "Authorization: [REDACTED]"),
        ("Basic dXNlcjpwdw==", "Basic [REDACTED]"),
        ("sk-proj-abcdef", "[REDACTED]"),
        ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "[REDACTED]"),
        ("ghp_abcdefghijklmnop", "[REDACTED]"),
        ("0123456789abcdef0123456789abcdef", "[REDACTED]"),
    ],
)
def test_paths_addresses_and_credentials_are_hidden(text: str, shown: str) -> None:  # TG-35, DEC-9
    assert redacted(f"it failed at {text} twice") == f"it failed at {shown} twice"


def test_text_without_secrets_is_unchanged() -> None:
    said = "no answer within 60 s: 3/4 of the tokens are used, and/or the model's limit (400) is reached"
    assert redacted(said) == said
    assert redacted("two\n  lines") == "two lines"
    assert len(redacted("long " * 200)) == 300
