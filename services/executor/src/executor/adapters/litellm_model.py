"""Real models, through litellm. The only module that knows it; retries belong to the bus, so it makes none."""

import asyncio
import importlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import monotonic
from typing import Any

import httpx

from executor.adapters.guarded_transport import GuardedTransport
from executor.adapters.model_failures import causes, forbidden_address, not_taken, refused, unavailable
from executor.adapters.team_clients import Formless, TeamClients
from executor.adapters.wire_messages import wire_messages
from executor.agents.connectors import Connector
from executor.domain.conversation.chat import ModelReply, Tool, ToolCall, whole_characters
from executor.domain.conversation.loop import UNREADABLE
from executor.model_port import ContextOverflow, NoAnswer, NotTaken, OnText, Prompt
from rota_common.errors import Permanent
from rota_common.json_text import parse_json
from rota_common.runtime.logs import logger
from rota_contracts.messages.usage import ModelCall, Usage

STEP_HEADER = "x-rota-step-id"

FORM = "response_format"
FORMS = (FORM, "json_schema", "output_format", "grammar", "json_tool_call")
"""Names in the words of a server that takes no form of answers: it is asked without one from then on."""

FIRST_CALL = ("openai.resources", "litellm.proxy._types", "litellm._service_logger")
"""Modules that litellm imports when it is first called: some 470, most of them by the first of these."""


class LitellmModel:
    """`load` before it is needed: importing litellm takes seconds, in which hardly anything else runs, and a hundred
    megabytes. `guarded`: takes the calls of connectors that teams wrote."""

    def __init__(self, guarded: httpx.AsyncBaseTransport | None = None) -> None:
        self._guarded = guarded or GuardedTransport()
        self._clients = TeamClients(self._guarded)
        self._litellm: Any = None
        self._loading = asyncio.Lock()
        self._formless = Formless()
        self._log = logger(service="executor")

    async def close(self) -> None:
        await self._guarded.aclose()

    async def load(self) -> None:
        """Import litellm in a thread, without its request for a price list, and what its first call would import: on a
        busy machine that call would hold the event loop for longer than a lease."""
        async with self._loading:
            if self._litellm is None:
                os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
                self._litellm = await asyncio.to_thread(importlib.import_module, "litellm")
                for name in FIRST_CALL:
                    await asyncio.to_thread(importlib.import_module, name)
                self._litellm.suppress_debug_info = True
                self._litellm.telemetry = False

    async def price_list(self) -> Mapping[str, Mapping[str, Any]]:
        """litellm's own, as it was released: it isn't fetched."""
        await self.load()
        prices: Mapping[str, Mapping[str, Any]] = self._litellm.model_cost
        return prices

    async def complete(self, prompt: Prompt) -> ModelReply:
        await self.load()
        connector, began = prompt.connector, monotonic()
        request = {
            "model": f"{connector.type}/{connector.model}",
            **self._server(connector),
            "messages": wire_messages(prompt.messages, connector),
            "timeout": prompt.timeout,
            "num_retries": 0,
            "max_retries": 0,
            "drop_params": True,
            **_options(prompt),
            **self._form(prompt),
        }
        try:
            if prompt.on_text is not None and connector.streams:
                answer = await self._streamed(request, prompt.on_text)
            else:
                answer = await self._litellm.acompletion(**request)
        except Exception as error:  # litellm's errors are sorted by `_named`, and a bug is raised again there
            if FORM in request and any(word in str(error) for word in FORMS):  # some servers call it a bug of theirs
                if not prompt.own_form:
                    self._formless.add(connector)
                return await self.complete(replace(prompt, schema=None))
            raise self._named(error, prompt) from error
        if not answer.choices:
            return ModelReply(call=_call_of(answer, connector, monotonic() - began))
        message = answer.choices[0].message
        return ModelReply(
            text=str(message.content or ""),
            calls=[_call(call, number) for number, call in enumerate(message.tool_calls or [], start=1)],
            reasoning=str(getattr(message, "reasoning_content", None) or ""),
            blocks=[dict(block) for block in getattr(message, "thinking_blocks", None) or []],
            stopped=_stopped(answer.choices[0].finish_reason),
            call=_call_of(answer, connector, monotonic() - began),
        )

    def _server(self, connector: Connector) -> dict[str, Any]:
        """Where the call goes, and with which key: a team's own, with nothing of the operator's environment."""
        if connector.owner:
            return self._clients.of(self._litellm, connector)
        return {"api_key": connector.key or None, "api_base": connector.host or None}

    def _form(self, prompt: Prompt) -> dict[str, Any]:
        """The form of the answer, which litellm makes a forced tool of where the provider knows no schemas; only if
        the connector's file says that it can."""
        of = prompt.connector
        if prompt.schema is None or of.capabilities.get("json") is not True or of in self._formless:
            return {}
        return {FORM: {"type": "json_schema", "json_schema": {"name": "answer", "schema": dict(prompt.schema)}}}

    async def _streamed(self, request: dict[str, Any], on_text: OnText) -> Any:
        """The same answer, while `on_text` gets its text. Raises NoAnswer for one that breaks off."""
        bits, ended = list[Any](), False
        stream = await self._litellm.acompletion(**request, stream=True, stream_options={"include_usage": True})
        async for bit in stream:
            bits.append(bit)
            for choice in bit.choices[:1]:
                ended = ended or choice.finish_reason is not None
                if text := getattr(choice.delta, "content", None):
                    await on_text(text)
        if not ended:
            raise NoAnswer(f"model {request['model']}: the answer breaks off")
        return self._litellm.stream_chunk_builder(bits, messages=request["messages"])

    def _named(self, error: Exception, prompt: Prompt) -> Exception:
        """Which kind of failure it is, as `model_failures` words it."""
        if (forbidden := forbidden_address(error)) is not None:
            return Permanent(f"connector {prompt.connector.id} can't be used: {forbidden}")
        openai = self._litellm.exceptions.openai  # all of litellm's errors about an answer are openai's at heart
        status = getattr(error, "status_code", None)
        if isinstance(error, openai.APIConnectionError) or _passes(status):
            reason = unavailable(prompt.connector, error, status)
            self._log.warning("model failed", reason=reason, causes=causes(error))
            kind = NotTaken if not_taken(error, status) else NoAnswer
            return kind(reason, after=_retry_after(error))
        if isinstance(error, openai.OpenAIError):
            too_long = isinstance(error, self._litellm.exceptions.ContextWindowExceededError)
            return (ContextOverflow if too_long else Permanent)(refused(prompt.connector, error, status))
        return error


def _options(prompt: Prompt) -> dict[str, Any]:
    """The agent's options go before the connector's; a model without tool calls gets no tools."""
    options = {**prompt.connector.parameters, **prompt.options}
    options["extra_headers"] = {**options.get("extra_headers", {}), STEP_HEADER: prompt.step_id}
    thinks = prompt.connector.type == "anthropic" and ("thinking" in options or "reasoning_effort" in options)
    if thinks or not prompt.connector.can("temperature_adjustable"):
        options.pop("temperature", None)  # refused beside thinking, whatever an agent's file says
    if prompt.tools and prompt.connector.can("tool_calls"):
        # Left to look for MCP servers of its own among the tools, litellm imports its whole proxy, and wants another
        # version of the MCP SDK than ours (docs/decisions/0007).
        return {**options, "tools": _tools(prompt.tools), "_skip_mcp_handler": True}
    return {name: value for name, value in options.items() if name not in ("tools", "tool_choice")}


def _stopped(reason: object) -> str:
    return "" if reason in (None, "stop", "tool_calls", "function_call") else str(reason)


def _call_of(answer: Any, connector: Connector, seconds: float) -> ModelCall:
    return ModelCall(model=connector.model, usage=_usage(getattr(answer, "usage", None)), seconds=round(seconds, 3))


def _usage(given: Any) -> Usage | None:
    """None where the provider reports nothing: litellm makes zeros of that."""
    numbers = [getattr(given, name, None) for name in ("prompt_tokens", "completion_tokens")]
    cached = getattr(getattr(given, "prompt_tokens_details", None), "cached_tokens", None)
    if not any(isinstance(number, int) and number > 0 for number in numbers):
        return None
    return Usage(tokens_in=_count(numbers[0]), tokens_out=_count(numbers[1]), tokens_cached=_count(cached))


def _count(number: object) -> int:
    return max(number, 0) if isinstance(number, int) else 0


def _tools(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        }
        for tool in tools
    ]


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
