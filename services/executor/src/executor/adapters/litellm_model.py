"""Real models, through litellm. The only module that knows it; retries belong to the bus, so it makes none."""

import asyncio
import importlib
import os
from typing import Any

from executor.ports import Prompt
from rota_common.errors import Permanent, Transient


class LitellmModel:
    """`load` once the service is up: importing litellm takes seconds and a hundred megabytes."""

    def __init__(self) -> None:
        self._litellm: Any = None
        self._loading = asyncio.Lock()

    async def load(self) -> None:
        """Import litellm in a thread, without its request for a price list."""
        async with self._loading:
            if self._litellm is None:
                os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
                self._litellm = await asyncio.to_thread(importlib.import_module, "litellm")
                self._litellm.suppress_debug_info = True
                self._litellm.telemetry = False

    async def complete(self, prompt: Prompt) -> str:
        await self.load()
        connector = prompt.connector
        try:
            answer = await self._litellm.acompletion(
                model=f"{connector.type}/{connector.model}",
                api_key=connector.key or None,
                api_base=connector.host or None,
                messages=[message.model_dump(mode="json") for message in prompt.messages],
                timeout=prompt.timeout,
                num_retries=0,
                max_retries=0,
                drop_params=True,
                **{**connector.parameters, **prompt.options},
            )
        except Exception as error:  # litellm's errors are sorted by `_named`, and a bug is raised again there
            raise self._named(error, prompt) from error
        return str(answer.choices[0].message.content or "")

    def _named(self, error: Exception, prompt: Prompt) -> Exception:
        """Which kind of failure it is; the text names the connector and never the key."""
        openai = self._litellm.exceptions.openai  # all of litellm's errors about an answer are openai's at heart
        reason = f"model {prompt.connector.model} of connector {prompt.connector.id}: {type(error).__name__}"
        if isinstance(error, openai.APIConnectionError) or _passes(getattr(error, "status_code", None)):
            return Transient(reason, after=_retry_after(error))
        if isinstance(error, openai.OpenAIError):
            text = str(getattr(error, "message", error)).replace(prompt.connector.key or "\0", "[REDACTED]")
            return Permanent(f"{reason}: {text[:500]}")
        return error


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
