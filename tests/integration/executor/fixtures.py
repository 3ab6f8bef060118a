"""A scripted model: what it answers to each kind of question, and how it can be made to take its time."""

import asyncio
import json

from rota_common.testing.openai_server import Answer, ModelRequest
from tests.integration.executor.harness import kind

PLAN = [
    {"id": "a", "description": "Score it", "executor_id": "experts.scorer", "expected_output": "a score"},
    {"id": "b", "description": "Write it", "executor_id": "experts.writer", "validation_rules": ["Be kind."]},
]
ANSWERS: dict[str, str] = {
    "goals": "## Goals\n1. Score Globex",
    "tasks": json.dumps({"tasks": PLAN}),
    "run: Score it": "87 of 100",
    "run: Write it": "Dear Globex",
    "delivery": json.dumps({"summary": "Globex is hot.", "body": "# Globex"}),
}
ASKS = json.dumps({"status": "need_input", "question": "Which Globex?"})


class Script:
    """Answers as usual. `replies` go first, by kind of question; the kinds in `holds` wait until `go` is set, and
    `reached` is set when one of them has been asked."""

    def __init__(self, *holds: str, **replies: list[Answer]) -> None:
        self.holds = set(holds)
        self.replies = {name: list(answers) for name, answers in replies.items()}
        self.reached, self.go = asyncio.Event(), asyncio.Event()

    async def __call__(self, asked: ModelRequest) -> Answer:
        what = kind(asked)
        if what in self.holds:
            self.holds.discard(what)
            self.reached.set()
            await self.go.wait()
        waiting = self.replies.get(what)
        return waiting.pop(0) if waiting else ANSWERS[what]
