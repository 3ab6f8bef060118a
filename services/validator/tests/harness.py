"""The validator's use cases over adapters in memory."""

from datetime import UTC, datetime
from typing import Any

from rota_contracts.catalog import VALIDATION_REQUESTED
from rota_contracts.envelope import Event
from rota_contracts.messages.text import Text
from rota_contracts.messages.validation import (
    Assertion,
    CheckRules,
    Conversation,
    RulesReply,
    ValidationCompletedV1,
    ValidationRequestedV1,
    ValidationResult,
)
from validator.adapters.in_memory import ScriptedAgents, in_memory
from validator.check_output import CheckOutput
from validator.judge_output import JudgeOutput
from validator.ports import Adapters
from validator.registry import Kinds

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


async def check(
    output: str, *rules: Any, adapters: Adapters | None = None, conversation: Conversation | None = None
) -> RulesReply:
    """The first layer's reply about an output."""
    given = adapters or in_memory()
    use = CheckOutput(outputs=given.outputs, patterns=given.patterns, scripts=given.scripts, kinds=Kinds(given.plugins))
    talk = conversation or Conversation()
    request = {"rules": list(rules), "output": Text(inline=output), "conversation": talk}
    return await use(CheckRules.model_validate(request))


async def verdict(output: str, *, adapters: Adapters | None = None, **rule: Any) -> ValidationResult:
    """The first layer's verdict on one assertion."""
    return (await check(output, Assertion.model_validate(rule), adapters=adapters)).verdict


async def judge(agents: Any, **fields: Any) -> ValidationCompletedV1:
    """The second layer's fact about an output; `agents` are the port, or the content of every agent's answer."""
    agents = ScriptedAgents(agents) if isinstance(agents, str) else agents
    published: list[ValidationCompletedV1] = []

    async def publish(channel: Any, fact: ValidationCompletedV1, **_: Any) -> None:
        published.append(fact)

    use = JudgeOutput(
        outputs=in_memory().outputs,
        agents=agents,
        kinds=Kinds(),
        publish=publish,  # type: ignore[arg-type]  # a stand-in
        timeout=60,
    )
    given: dict[str, Any] = {"team_id": "acme", "member_id": "writer", "validation_id": "v1", "execution_id": "e1"}
    given |= {"task_id": "t1", "description": "Write a haiku about rain", "output": Text(inline="Rain on the tin roof")}
    request = ValidationRequestedV1.model_validate(given | fields)
    await use(Event(id="1", type=VALIDATION_REQUESTED.type, source="executor", time=NOON, data=request))
    (fact,) = published
    return fact
