"""An agent's answer, ready to be parsed as a step's outcome."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from executor.domain.answers.dialects import MARKERS
from executor.domain.answers.forms import echo_problem, in_form, without_echoes
from executor.domain.answers.names import is_known
from executor.domain.answers.sanitise import sanitised
from executor.domain.answers.silence import MARK, without_mark
from executor.domain.answers.text_calls import bare_call
from executor.domain.answers.understand import Understood, understand
from executor.domain.conversation.chat import ModelReply, Thinking, Tool, ToolCall
from executor.domain.failures import is_last_attempt
from executor.domain.planning.parsing import UnusableAnswer
from executor.domain.run import Run
from executor.domain.situation.wording import words
from executor.domain.steps import AskAgent, RunTurn
from rota_common.json_text import extract_json
from rota_contracts.robots.robot import Phase

UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
LENGTH_LIMIT = 100_000
"""Characters of what a run keeps in its record; results and reports may be longer, as they are kept by reference."""

NO_TOOL = (
    "expected the result itself, got a call of a tool that there isn't. What none of your tools does is yours to do: "
    "write the result"
)
"""Without the tool's name: a model that reads it calls it again."""

NO_TOOL_NAMED = "expected the result itself, got a call of {name}: there is no such tool"
TAGS = "expected markdown, got tags such as <p>: write it again without them"
REQUEST = "expected the result, got the request back: do what it asks for, and write what comes of it"
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Answer:
    """`form`: the text with readable JSON, where it may ask a person. `wanted_calls`: it calls tools as text, and could
    call none. `thinking`: JSON that goes back to the model. `in_html`: where markdown was asked for. `version`: of the
    understanding."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    form: str = ""
    silent: bool = False
    wanted_calls: bool = False
    thinking: str = ""
    in_html: bool = False
    version: int = 0

    def check_length(self, text: str) -> None:
        """Raises UnusableAnswer for a text that is too long for the run's own record."""
        if self.version > 2 and len(text) > LENGTH_LIMIT:
            raise UnusableAnswer(f"expected at most {LENGTH_LIMIT} characters, got {len(text)}")

    def check_words(self, text: str) -> None:
        """Raises UnusableAnswer for a text without any word, or one that is a part of JSON."""
        if self.version > 2 and not (any(each.isalnum() for each in text) and text.lstrip()[:1] not in ("{", "[")):
            raise UnusableAnswer("expected a text for a reader, got none, or JSON that can't be read")

    def readable(self, text: str) -> str:
        """A text in a form, for a reader. Raises UnusableAnswer where nothing is left of it."""
        if self.version == 0:
            return text
        if found := sanitised(text):
            return found
        raise UnusableAnswer("expected a text for a reader, got calls of tools or thoughts alone")

    def sendable(self, text: str) -> tuple[str, bool]:
        """The same, and whether it says that there is nothing to send."""
        if self.version == 0:
            return text, False
        kept, silent = without_mark(self.readable(text))
        return kept, silent


def answer_of(run: Run, step: AskAgent | RunTurn, said: ModelReply, tools: Sequence[Tool], *, version: int) -> Answer:
    """The answer to a step. Raises UnusableAnswer for one that repeats the example of its form; when it was asked
    often enough, the fields that do are left out."""
    looks = isinstance(step, AskAgent) and step.phase is Phase.INSPIRATION
    callable_now = tools if looks or isinstance(step, RunTurn) else ()
    found = understand(said, callable_now, version=version)
    if version == 0:
        return Answer(found.text, found.calls)
    text = UNPRINTABLE.sub("", found.text) if version > 2 else found.text
    if looks and tools and found.calls:
        return Answer(text, found.calls, thinking=thinking_of(said), version=version)
    text = _own(text, said, run)
    if isinstance(step, AskAgent):
        return Answer(in_form(text, tripled=version > 5), silent=found.silent, in_html=said.in_html, version=version)
    if version > 1 and (tools or run.attempts) and not found.calls and (call := bare_call(text, version=version)):
        raise UnusableAnswer(NO_TOOL if version > 5 else NO_TOOL_NAMED.format(name=call.name))
    if version > 5 and not found.calls and _is_request(text, run) and not is_last_attempt(run):
        raise UnusableAnswer(REQUEST)
    return _of_turn(step, found, said, text, tools, version)


def _own(text: str, said: ModelReply, run: Run) -> str:
    if said.repeats_prompt:
        raise UnusableAnswer("expected an answer of its own, got the instructions back")
    if said.in_html and not is_last_attempt(run):
        raise UnusableAnswer(TAGS)
    if said.echoes and not is_last_attempt(run):
        raise UnusableAnswer(echo_problem(said.echoes))
    return without_echoes(text, said.echoes) if said.echoes else text


def _is_request(text: str, run: Run) -> bool:
    """Is it, but for signs and case, what was asked?"""
    said, asked = (WORD.findall(each.casefold()) for each in (text, words(run.execution.trigger)))
    return bool(said) and said == asked


def _of_turn(
    step: RunTurn, found: Understood, said: ModelReply, text: str, tools: Sequence[Tool], version: int
) -> Answer:
    if not found.calls and (name := _bare_call(text, tools)):
        raise UnusableAnswer(
            f"expected a call of {name} as a call, got JSON that only looks like one: use the tool's call, "
            'or answer <tool_call>{"name": "…", "arguments": {…}}</tool_call>'
        )
    wanted = not text.strip() and not tools and step.iteration > 0 and MARKERS.search(said.text) is not None
    form = in_form(text) if "need_input" in text else ""
    return Answer(
        MARK if found.silent else text,
        found.calls,
        form,
        wanted_calls=wanted,
        thinking=thinking_of(said) if version > 2 else "",
        version=version,
    )


def thinking_of(said: ModelReply) -> str:
    """The reasoning that its provider wants back with the results of its native calls, as JSON; empty if none."""
    if not said.calls or not (said.blocks or said.reasoning):
        return ""
    model, reasoning = said.call.model if said.call else "", "" if said.blocks else said.reasoning
    return Thinking(model=model, reasoning=reasoning, blocks=said.blocks).model_dump_json()


def _bare_call(text: str, tools: Sequence[Tool]) -> str:
    """The tool that an answer of nothing but JSON names beside its arguments."""
    if not tools or not text.lstrip().startswith(("{", "```")):
        return ""
    found = extract_json(text)
    if not isinstance(found, dict) or not {"arguments", "parameters"} & found.keys() or len(found) > 3:
        return ""
    name = found.get("name")
    return name if isinstance(name, str) and is_known(name, tools) else ""
