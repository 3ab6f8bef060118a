"""Upper bounds of the tokens of a call: of its prompt by bytes, and of its answer by the limit that is sent with it."""

from dataclasses import replace
from typing import Any

from pydantic_core import to_json

from executor.model_port import Prompt

LIMITS = ("max_tokens", "max_completion_tokens")
PER_MESSAGE, WITH_TOOLS, PER_FILE = 32, 1_000, 20_000
"""Tokens that providers add: around a message, for the use of tools, and for a file that is sent as its address."""

REASONING = {"minimal": 1_024, "low": 1_024, "medium": 2_048}
MOST_REASONING = 8_192


def most_in(prompt: Prompt) -> int:
    """No tokenizer makes a token of less than a byte."""
    messages = sum(len(to_json(message)) + PER_MESSAGE for message in prompt.messages)
    contents = [message.content for message in prompt.messages if not isinstance(message.content, str)]
    files = sum(part.get("type") != "text" for content in contents for part in content)
    tools = sum(len(to_json([tool.name, tool.description, tool.parameters])) + PER_MESSAGE for tool in prompt.tools)
    return int(messages + files * PER_FILE + tools + (WITH_TOOLS if prompt.tools else 0))


def bounded(prompt: Prompt) -> tuple[Prompt, int]:
    """The prompt with a limit of its answer, and that limit, in tokens."""
    options = {**prompt.connector.parameters, **prompt.options}
    named = [options[name] for name in LIMITS if isinstance(options.get(name), int)]
    most = max(named, default=prompt.connector.max_output + thinking_tokens(options))
    if not named:
        prompt = replace(prompt, options={**prompt.options, "max_tokens": most})
    answers = options.get("n")
    return prompt, most * (answers if isinstance(answers, int) else 1)


def thinking_tokens(options: dict[str, Any]) -> int:
    """Tokens of reasoning, which count as part of the answer."""
    thinking, effort = options.get("thinking"), options.get("reasoning_effort")
    budget = thinking.get("budget_tokens", 0) if isinstance(thinking, dict) else 0
    return int(budget) + (REASONING.get(str(effort), MOST_REASONING) if effort else 0)
