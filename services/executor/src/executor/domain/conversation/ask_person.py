"""The tool by which an assistant asks a person; the run waits for the answer."""

from collections.abc import Sequence

from executor.domain.conversation.chat import Tool, ToolCall

ASK_PERSON = Tool(
    "ask_person",
    "rota",
    "ask_person",
    "Ask a person for a decision, or for a fact that a person alone knows. Only where nothing useful can be done "
    "without it: the work waits until that person answers, which may take days. Never ask for the work itself.",
    {
        "type": "object",
        "properties": {"question": {"type": "string", "description": "what must be decided or known"}},
        "required": ["question"],
    },
    idempotent=True,
)


def question_of(calls: Sequence[ToolCall]) -> str | None:
    """The question to a person among a reply's calls; empty if the call has none. None without such a call."""
    call = next((call for call in calls if call.name == ASK_PERSON.name), None)
    if call is None:
        return None
    question = call.arguments.get("question")
    return question.strip() if isinstance(question, str) else ""
