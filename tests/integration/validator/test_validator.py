"""The validator with its own adapters: a nats-server, its store of objects, child processes, and agents over the bus.

Its messages are tested on a bus in memory in services/validator/tests/test_messages.py.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rota_common.bus.middlewares import AnyHandler
from rota_common.bus.router import Router
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.runtime.service import Runtime, Service
from rota_common.stores.blobs import Blobs, Owner
from rota_common.testing.bus import Listener
from rota_common.testing.crash import crash
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.catalog import CALL_AGENT, CHECK_RULES, VALIDATION_COMPLETED, VALIDATION_REQUESTED
from rota_contracts.envelope import parse_event
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.text import Text
from rota_contracts.messages.validation import (
    Assertion,
    CheckRules,
    Conversation,
    ValidationCompletedV1,
    ValidationRequestedV1,
)
from validator.app import build
from validator.settings import Settings


class Executor:
    """Asks the validator, and answers its calls of agents."""

    def __init__(self, url: str, team: str) -> None:
        self.url, self.team = url, team
        self.calls: list[CallAgent] = []
        self.service = Service("executor", url)
        router = Router()
        router.answer(CALL_AGENT, self._answer)
        self.service.include(router)

    async def _answer(self, call: CallAgent) -> AgentReply:
        self.calls.append(call)
        verdict = {"check": call.metadata["check"], "passed": True, "score": 0.8}
        return AgentReply(agent_id=call.assistant_id, content=json.dumps(verdict))

    async def request(self, **fields: Any) -> None:
        given = {"validation_id": f"v-{self.team}", "execution_id": "e1", "task_id": "t1", "description": "a haiku"}
        given |= {"team_id": self.team, "member_id": "writer", "output": Text(inline="Rain")}
        fact = ValidationRequestedV1.model_validate(given | fields)
        await self.service.publish(VALIDATION_REQUESTED, fact, caused_by=fact.validation_id)

    @asynccontextmanager
    async def verdict(self) -> AsyncIterator[asyncio.Task[ValidationCompletedV1]]:
        """The next verdict for this team."""
        listener = await Listener.to(self.url, VALIDATION_COMPLETED.subject(self.team, "writer"))

        async def first() -> ValidationCompletedV1:
            (message,) = await listener.received()
            return parse_event(
                VALIDATION_COMPLETED.payload, message.headers, message.data, expected=VALIDATION_COMPLETED.type
            ).data

        yield asyncio.create_task(first())
        await listener.close()


@asynccontextmanager
async def running(*services: Service) -> AsyncIterator[None]:
    for service in services:
        await service.start()
    for service in services:
        await service.started.wait()
    try:
        yield
    finally:
        for service in services:
            await crash(service)


@pytest.fixture
def executor(shared_nats: EmbeddedServer, request: pytest.FixtureRequest) -> Executor:
    return Executor(shared_nats.url, request.node.name.replace("_", "-"))


def validator(url: str, *, scripts_dir: str = "", **runtime: Any) -> Service:
    return build(Settings(nats_url=url, scripts_dir=scripts_dir), runtime=Runtime(**runtime)).service


async def test_an_output_too_long_for_a_message_is_read_from_the_store(executor: Executor) -> None:
    rule = Assertion(type="regex", value="needle$")
    async with running(executor.service, validator(executor.url)), executor.verdict() as verdict:
        output = await Blobs(executor.service.bus).keep("hay " * 100_000 + "needle", owner=Owner("acme", "e1"))
        assert output.ref is not None
        found = await executor.service.ask(CHECK_RULES, CheckRules(rules=[rule], output=output))
        assert found.verdict.passed
        await executor.request(output=output)
        assert (await verdict).verdict.passed
    assert "its first 60000 of 400006 characters" in executor.calls[0].messages[0].text()


async def test_every_kind_of_rule_in_one_question(executor: Executor, tmp_path: Path) -> None:  # VA-02 to VA-09, VA-12
    (tmp_path / "scripts.validate.py").write_text("import json, sys\nprint(json.load(sys.stdin)['json']['n'] > 1)")
    (tmp_path / "total.py").write_text("import json, sys\nprint(json.dumps(json.load(sys.stdin)['json']['n'] == 1))")
    rules: list[Any] = [
        {"type": "equals", "value": {"n": 1.0, "name": "Ada"}},
        {"type": "contains", "value": "Ada"},
        {"type": "not_contains", "value": "error"},
        {"type": "json_path", "path": "n", "value": 1},
        {"type": "regex", "value": "^{"},
        {"type": "type", "value": "object"},
        {"type": "script", "script": "total"},
        {"type": "script", "script": "scripts.validate"},
        {"type": "agent", "use": "validator"},
        *("field 'name' must be present", "Be kind."),
    ]
    talk = Conversation(turn=1, max_turns=3)
    question = {"rules": rules, "output": {"inline": '{"n": 1, "name": "Ada"}'}, "conversation": talk}
    async with running(executor.service, validator(executor.url, scripts_dir=str(tmp_path))):
        found = await executor.service.ask(CHECK_RULES, CheckRules.model_validate(question))
    assert found.open_rules == ['{"type":"agent","use":"validator"}', "Be kind."]
    assert found.verdict.details.startswith("**Rules: 8 of 9 hold.**")
    (issue,) = found.verdict.issues
    assert "expected the script to print true, false or" in issue  # it printed False, which isn't JSON
    assert f"1. {issue}" in found.verdict.reply_content


async def test_a_verdict_waits_for_an_executor_that_is_away(executor: Executor) -> None:
    received = asyncio.Event()

    def note(handler: AnyHandler) -> AnyHandler:
        async def noted(message: Any) -> Any:
            received.set()
            return await handler(message)

        return noted

    await executor.service.bus.connect()
    async with running(validator(executor.url, middlewares=[note])), executor.verdict() as verdict:
        await executor.request()
        await asyncio.wait_for(received.wait(), PATIENCE_S)
        async with running(executor.service):
            assert (await verdict).verdict.passed
