"""The rehearsal model: the same prompt gets the same answer, in the form asked for."""

import asyncio
from typing import Any

import httpx
from pydantic import ValidationError

from executor.adapters.rehearsal_answers import rehearse
from executor.domain.conversation.ask_person import ASK_PERSON
from executor.domain.conversation.chat import ChatMessage, ModelReply
from executor.model_port import Prompt
from rota_common.errors import Permanent, Transient


class RehearsalModel:
    """Answers for every agent; the answers depend on the prompt's facts alone.

    A connector's parameter `seconds` makes each answer take as long as a model's may. With a `host`, that address is
    asked for the answers, so that a program outside can count and delay them.
    """

    async def complete(self, prompt: Prompt) -> ModelReply:
        facts = {"words": prompt.messages[-1].text(), **prompt.facts} if prompt.messages else prompt.facts
        tools = [tool.name for tool in prompt.tools if tool.name != ASK_PERSON.name]  # a rehearsal has no questions
        await asyncio.sleep(float(prompt.connector.parameters.get("seconds", 0)))
        if not prompt.connector.host:
            return rehearse(facts, tools=tools, rounds=_rounds(prompt))
        question = {"step_id": prompt.step_id, "kind": facts.get("kind"), "facts": facts, "tools": tools}
        return await _ask(prompt, {**question, "rounds": _rounds(prompt)})


def _rounds(prompt: Prompt) -> int:
    """How often tools were called before in this conversation."""
    return sum(isinstance(message, ChatMessage) and bool(message.tool_calls) for message in prompt.messages)


async def _ask(prompt: Prompt, question: dict[str, Any]) -> ModelReply:
    host = prompt.connector.host
    who = f"the host of connector {prompt.connector.id}"
    try:
        # Certificates are loaded for https alone: it takes longer than all the rest.
        async with httpx.AsyncClient(timeout=prompt.timeout, verify=host.startswith("https:")) as client:
            answer = await client.post(host, json=question)
    except httpx.HTTPError as error:
        raise Transient(f"{who} can't be asked: {type(error).__name__}") from error
    if answer.status_code >= 500:
        raise Transient(f"{who} answered {answer.status_code}")
    try:
        answer.raise_for_status()
        return ModelReply.model_validate_json(answer.content)
    except (httpx.HTTPStatusError, ValidationError) as error:
        raise Permanent(f"{who}: expected {{text, calls}}, got {answer.status_code} {answer.text[:200]!r}") from error
