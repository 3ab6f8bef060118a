"""The question to an agent that checks an output: what was asked, the rules, the output, and the form of its answer."""

from collections.abc import Sequence
from typing import Any

from rota_common.material import frame_of, joined, tagged
from rota_contracts.messages.validation import ValidationRequestedV1

OUTPUT_LIMIT = 60_000
"""Characters of the output that an agent sees."""

JUDGE = """Judge whether the output does what was asked. What was asked and the rules decide; the task is how it was
planned, and the expected output a guess of the planner: a help for you, and alone no reason to fail an output."""

ANSWER = """Your answer is one JSON object and nothing else: no text around it, no fence. Its fields:
- check: string, required. Always {check}; it shows that the verdict is yours.
- passed: boolean, required.
- score: number from 0 to 1, required. It passes with {threshold:g} or more.
- issues: array of strings. What is wrong; empty if it passes.
- suggestions: array of strings. How to mend it; may be empty.
- details: string, markdown, optional. A short report."""

REPLY = """- complete: boolean. False only if it passes and more of it is to come.
- need_reply: boolean. Only if another try can mend it, or more is to come.
- reply_content: string. Beside need_reply: your remark or question to the author of the output, addressed to them."""

TEXTS = {"type": "array", "items": {"type": "string"}}


def question(request: ValidationRequestedV1, output: str, rules: Sequence[str], *, expected: str) -> str:
    """The question about an output, or about a part of it. Whatever a stranger wrote stands in the frame."""
    frame = frame_of("validation", request.validation_id)
    cut = f", its first {OUTPUT_LIMIT} of {len(output)} characters" if len(output) > OUTPUT_LIMIT else ""
    return joined(
        frame.preamble,
        f"Now: {request.now}" if request.now else "",
        *(frame.material(name, text) for name, text in request.given.items()),
        tagged("asked", request.asked),
        tagged("said_by_people_meanwhile", request.said),
        tagged("task", request.description),
        tagged("expected_output", expected),
        tagged("rules", "\n".join(f"- {rule}" for rule in rules)),
        frame.material(f"output{cut}", output[:OUTPUT_LIMIT]) or "(the output is empty)",
        JUDGE,
    )


def answer_form(request: ValidationRequestedV1, check: str) -> str:
    """The form of the verdict, which repeats the `check`; a reply is for a conversation that goes on."""
    form = ANSWER.format(check=check, threshold=request.threshold)
    return f"{form}\n{REPLY}" if request.conversation.goes_on else form


def answer_schema(request: ValidationRequestedV1, check: str) -> dict[str, Any]:
    """The same form as a JSON Schema."""
    properties: dict[str, Any] = {
        "check": {"type": "string", "enum": [check]},
        "passed": {"type": "boolean"},
        "score": {"type": "number", "minimum": 0, "maximum": 1},
        "issues": TEXTS,
        "suggestions": TEXTS,
        "details": {"type": "string"},
    }
    if request.conversation.goes_on:
        flags = {"complete": {"type": "boolean"}, "need_reply": {"type": "boolean"}}
        properties |= flags | {"reply_content": {"type": "string"}}
    return {"type": "object", "properties": properties, "required": ["check", "passed", "score", "issues"]}
