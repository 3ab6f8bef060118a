"""A run with a model behind the OpenAI protocol, whose answers are as untidy as real ones (CL-22)."""

import json
import re
from pathlib import Path

from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.testing.openai_server import ModelRequest, openai_server
from rota_contracts.messages.execution import ExecStatus
from tests.integration.path.harness import a_system, example

PLAN = {
    "tasks": [
        {"id": "t", "description": "Look the company up", "executor_type": "assistant", "executor_id": "enricher"},
        {
            "id": "t",
            "description": "Score the lead",
            "executor_id": "lead-scorer",
            "expected_output": "a score",
            "validation_rules": ["the score has a reason", {"type": "contains", "value": "85"}],
        },
    ]
}


def untidy(asked: ModelRequest) -> str:
    """JSON inside prose and fences, as models like to answer."""
    if "Make today's goals" in asked.words:
        return 'Sure! Here they are:\n```json\n{"content": "## Goals\\n1. Qualify the lead"}\n```\nAnything else?'
    if "Make the plan" in asked.words:
        return f"The plan is as follows. {json.dumps(PLAN)} I hope that helps {{really}}."
    if "You check the results" in asked.system:
        (check,) = re.findall(r"- check: .* Always (\w{8});", asked.words)
        return f'```\n{{"check": "{check}", "passed": true, "score": 0.8, "issues": [],}}\n```\nIt passes, I think.'
    if "Write it up" in asked.words:
        content = {"content": {"summary": "HOT LEAD: John Smith", "body": "## Lead\n85/100"}}
        return f"```json\n{json.dumps(content, indent=2)}\n```"
    if "You keep the lessons" in asked.system:
        return 'Lessons: {"lessons": [{"type": "insight", "content": "BigCorp buys Enterprise"}]}'
    return "Score: 85, because they ask for Enterprise."


async def test_a_run_completes_with_untidy_answers_of_a_model(
    tmp_path: Path, nats: EmbeddedServer, mongo_url: str, mongo_prefix: str
) -> None:
    async with openai_server(untidy) as model:
        environ = {"OPENAI_API_KEY": "sk-of-the-test", "OPENAI_BASE_URL": model.url, "OPENAI_MODEL": "scripted"}
        async with a_system(
            tmp_path / "rota",
            nats_url=nats.url,
            mongo_url=mongo_url,
            mongo_prefix=mongo_prefix,
            connector="openai",
            environ=environ,
        ) as system:
            await system.api.create_robot(example("lead-processor", system.hooks.url))
            over = await system.ended((await system.post_lead())["triggers"][0])
            assert over.status is ExecStatus.COMPLETED, over.error
            assert [task.executor_id for task in over.tasks or []] == ["data-enricher", "lead-scorer"]
            assert len({task.id for task in over.tasks or []}) == 2
            repairs = [note for note in over.notes if note.startswith("plan: ")]
            assert len(repairs) == 2  # the executor's id and the second task's id
            assert over.results[1].validation is not None
            assert over.results[1].validation.score == 0.8
            assert system.hooks.received[0].body["data"]["summary"] == "HOT LEAD: John Smith"
            assert over.learning is not None
            assert [lesson.content for lesson in over.learning.lessons] == ["BigCorp buys Enterprise"]
            assert {asked.headers["authorization"] for asked in model.asked} == {"Bearer sk-of-the-test"}
            assert "sk-of-the-test" not in over.model_dump_json()
