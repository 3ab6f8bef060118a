"""Real models, through litellm. The only module that knows it; retries belong to the bus, so it makes none."""

import asyncio
import importlib
import json
import os
from collections.abc import Sequence
from typing import Any

from executor.domain.conversation.chat import ChatMessage, ModelReply, Tool, ToolCall, whole_characters
from executor.domain.conversation.loop import UNREADABLE
from executor.ports import ContextOverflow, Prompt
from rota_common.errors import Permanent, Transient
from rota_common.json_text import parse_json
from rota_common.runtime.logs import logger
from rota_contracts.messages.trigger import Message

STEP_HEADER = "x-rota-step-id"


class LitellmModel:
    """`load` once the service is up: importing litellm takes seconds and a hundred megabytes."""

    def __init__(self) -> None:
        self._litellm: Any = None
        self._loading = asyncio.Lock()
        self._log = logger(service="executor")

    async def load(self) -> None:
        """Import litellm in a thread, without its request for a price list."""
        async with self._loading:
            if self._litellm is None:
                os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
                self._litellm = await asyncio.to_thread(importlib.import_module, "litellm")
                self._litellm.suppress_debug_info = True
                self._litellm.telemetry = False

    async def complete(self, prompt: Prompt) -> ModelReply:
        await self.load()
        connector = prompt.connector
        try:
            answer = await self._litellm.acompletion(
                model=f"{connector.type}/{connector.model}",
                api_key=connector.key or None,
                api_base=connector.host or None,
                messages=[_message(message) for message in prompt.messages],
                timeout=prompt.timeout,
                num_retries=0,
                max_retries=0,
                drop_params=True,
                **_options(prompt),
            )
        except Exception as error:  # litellm's errors are sorted by `_named`, and a bug is raised again there
            raise self._named(error, prompt) from error
        message = answer.choices[0].message
        calls = [_call(call, number) for number, call in enumerate(message.tool_calls or [], start=1)]
        reasoning = str(getattr(message, "reasoning_content", None) or "")
        return ModelReply(text=str(message.content or ""), calls=calls, reasoning=reasoning)

    def _named(self, error: Exception, prompt: Prompt) -> Exception:
        """Which kind of failure it is; the text names the connector and never the key."""
        openai = self._litellm.exceptions.openai  # all of litellm's errors about an answer are openai's at heart
        reason = f"model {prompt.connector.model} of connector {prompt.connector.id}: {type(error).__name__}"
        if isinstance(error, openai.APIConnectionError) or _passes(getattr(error, "status_code", None)):
            self._log.warning("model failed", reason=reason, causes=_causes(error))
            return Transient(reason, after=_retry_after(error))
        if isinstance(error, openai.OpenAIError):
            text = str(getattr(error, "message", error)).replace(prompt.connector.key or "\0", "[REDACTED]")
            too_long = isinstance(error, self._litellm.exceptions.ContextWindowExceededError)
            return (ContextOverflow if too_long else Permanent)(f"{reason}: {text[:500]}")
        return error


def _causes(error: BaseException) -> list[str]:
    """The kinds of its causes, without their texts, which may contain addresses and keys. litellm reports whatever it
    doesn't know as a failed connection, its own mistakes too."""
    found = list[str]()
    cause = error.__cause__ or error.__context__
    while cause is not None and len(found) < 8:
        found.append(type(cause).__name__)
        cause = cause.__cause__ or cause.__context__
    return found


def _options(prompt: Prompt) -> dict[str, Any]:
    """The agent's options go before the connector's; a model without tool calls gets no tools."""
    options = {**prompt.connector.parameters, **prompt.options}
    options["extra_headers"] = {**options.get("extra_headers", {}), STEP_HEADER: prompt.step_id}
    if prompt.tools and prompt.connector.can("tool_calls"):
        # Left to look for MCP servers of its own among the tools, litellm imports its whole proxy, and wants another
        # version of the MCP SDK than ours (docs/decisions/0007).
        return {**options, "tools": _tools(prompt.tools), "_skip_mcp_handler": True}
    return {name: value for name, value in options.items() if name not in ("tools", "tool_choice")}


def _tools(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        }
        for tool in tools
    ]


def _message(message: Message) -> dict[str, Any]:
    """In OpenAI's form, where the arguments of a call are JSON text."""
    made: dict[str, Any] = {"role": message.role, "content": message.content}
    if not isinstance(message, ChatMessage):
        return made
    if message.tool_calls:
        made["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        made["tool_call_id"] = message.tool_call_id
    return made


def _call(call: Any, number: int) -> ToolCall:
    """Arguments that aren't a JSON object are kept as they came, as feedback for the model."""
    given = call.function.arguments
    try:
        arguments = parse_json(whole_characters(given)) if isinstance(given, str) and given.strip() else given or {}
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        arguments = {UNREADABLE: whole_characters(str(given))}
    return ToolCall(id=call.id or f"call-{number}", name=call.function.name or "", arguments=arguments)


def _passes(status: object) -> bool:
    """HTTP statuses that say "not now"; all others of 400 and above say "not this"."""
    return isinstance(status, int) and (status in (408, 409, 425, 429) or status >= 500)


def _retry_after(error: Any) -> float | None:
    """The seconds that the model's server asked for; litellm keeps its headers apart from the error's response."""
    headers = getattr(error, "litellm_response_headers", None) or {}
    try:
        seconds = float(headers.get("retry-after", ""))
    except ValueError:
        return None
    return min(seconds, 3600.0) if seconds >= 0 else None
