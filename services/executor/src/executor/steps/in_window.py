"""The question to a model within its window: what doesn't fit is cut, and what its provider refuses is known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from executor.agents.connectors import Connector
from executor.domain.context.budget import LEAST_WINDOW, crowded, fit, fit_tools
from executor.domain.context.contexts import MAX_OVERFLOWS, context_of, of_step, place_to_cut
from executor.domain.context.tokens import CHARACTERS, conversation_tokens, tool_tokens
from executor.domain.conversation.as_text import as_text
from executor.domain.conversation.chat import ModelReply, Thinking, Tool
from executor.domain.outcomes import Hooked, Overflowed
from executor.domain.run import Run
from executor.domain.steps import AskAgent, RunTurn
from executor.model_port import ContextOverflow, Model, Prompt
from executor.steps.hooked_prompts import HookedPrompts
from rota_contracts.ids import derived_id
from rota_contracts.messages.text import Text
from rota_contracts.messages.trigger import Message

CALLS = "tool_calls"


@dataclass(frozen=True)
class InWindow:
    """The window of one step, in tokens: its connector's, or less, once the provider has refused a prompt."""

    run: Run
    step: AskAgent | RunTurn
    model: Model
    connector: Connector
    hooks: HookedPrompts | None = None

    @property
    def limit(self) -> int:
        own = self.connector.window
        return min(context_of(self.run, of_step(self.step)).window or own, own)

    def tools(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        return fit_tools(tools, self.limit)

    def in_text(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        """The tools that stand in the prompt's text, because the model has no calls of its own."""
        return () if self.connector.can(CALLS) else tools

    def overflow(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Overflowed | None:
        """Whether the conversation is to be compacted before the model is asked."""
        of = of_step(self.step)
        tools, share = _native(self.connector, tools), self.connector.history_share
        if crowded(messages, tools, window=self.limit, share=share) and place_to_cut(self.run, of) is not None:
            return Overflowed(of)
        return None

    async def ask(
        self, prompt: Prompt, *, mark: str, again: int = 0
    ) -> tuple[ModelReply, Sequence[Message]] | Overflowed | Hooked:
        """The reply, and the messages that it replies to; first, if there are any, the outcome of its hooks. `again`:
        further questions of the same step are counted. Raises ContextOverflow when even little is too much."""
        native = _native(self.connector, prompt.tools)
        messages = fit(prompt.messages, native, window=self.limit, mark=mark)
        if self.hooks is not None:
            given = await self.hooks(self.run, self.step, messages, connector=self.connector.id, again=again)
            if isinstance(given, Hooked):
                return given
            messages = messages if given is messages else fit(given, native, window=self.limit, mark=mark)
        messages = messages if self.connector.can(CALLS) else as_text(messages)
        try:
            step_id = derived_id("asked again", prompt.step_id, again) if again else prompt.step_id
            return await self.model.complete(replace(prompt, messages=messages, step_id=step_id)), messages
        except ContextOverflow:
            of = of_step(self.step)
            if context_of(self.run, of).overflows >= MAX_OVERFLOWS:
                raise
            return Overflowed(of, halved(self.limit, messages, prompt.tools))

    def sizes(self, texts: Sequence[Text]) -> Mapping[str, str]:
        """Stand-ins of texts kept by reference, of the sizes that are stored: enough to decide by. Each can be read as
        a text, and as a model's reasoning."""
        most = CHARACTERS * self.limit
        return {
            text.ref.name: Thinking(reasoning="x" * min(text.ref.size, most)).model_dump_json()
            for text in texts
            if text.ref is not None
        }


def _native(connector: Connector, tools: Sequence[Tool]) -> Sequence[Tool]:
    """The tools that go beside the messages."""
    return tools if connector.can(CALLS) else ()


async def ask_within(model: Model, prompt: Prompt) -> tuple[ModelReply, Sequence[Message]]:
    """The reply to a prompt that belongs to no run; what the provider refuses is sent again, half as long."""
    window = prompt.connector.window
    for left in reversed(range(MAX_OVERFLOWS + 1)):
        messages = fit(prompt.messages, prompt.tools, window=window)
        try:
            return await model.complete(replace(prompt, messages=messages)), messages
        except ContextOverflow:
            if not left:
                raise
            window = halved(window, messages, prompt.tools)
    raise AssertionError("the last refusal is raised")


def halved(window: int, messages: Sequence[Message], tools: Sequence[Tool]) -> int:
    """A window that takes about half of what was refused."""
    return max(LEAST_WINDOW, min(window, conversation_tokens(messages) + tool_tokens(tools)) // 2)
