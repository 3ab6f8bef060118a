"""The scripted model refuses what the real providers refuse."""

from typing import Any

from rota_common.testing.model_refusals import anthropic_refusal, openai_refusal

Json = dict[str, Any]
Refusal = tuple[str, str] | None

USER = {"role": "user", "content": "Hi!"}
LONG = {"role": "user", "content": "word " * 2000}


def openai(*messages: Json, **fields: Any) -> Refusal:
    return openai_refusal({"model": "m", "messages": list(messages), **fields}, window=1000)


def called(*ids: str, name: str = "look", content: str | None = None) -> Json:
    calls = [{"id": one, "type": "function", "function": {"name": name, "arguments": "{}"}} for one in ids]
    return {"role": "assistant", "content": content, "tool_calls": calls}


def answered(call_id: str) -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": "found"}


def test_a_request_that_openai_refuses_is_refused_in_its_words() -> None:
    tool = {"type": "function", "function": {"name": "crm.look", "parameters": {}}}
    cases: dict[str, tuple[Refusal, str | None]] = {
        "a whole talk": (openai(USER, called("a", "b"), answered("b"), answered("a"), USER), None),
        "no messages": (openai(), "Invalid 'messages': empty array"),
        "a name with a dot": (openai(USER, tools=[tool]), "string does not match pattern"),
        "a long name of a call": (openai(USER, called("a", name="x" * 65), answered("a")), "does not match pattern"),
        "no tools at all": (openai(USER, tools=[]), "Invalid 'tools': empty array"),
        "a choice without tools": (openai(USER, tool_choice="auto"), "only allowed when 'tools' are specified"),
        "a result without its call": (openai(USER, answered("a")), "must be a response to a preceeding message"),
        "a result that comes twice": (openai(USER, called("a"), answered("a"), answered("a")), "preceeding message"),
        "a call without its result": (openai(USER, called("a", "b"), answered("a"), USER), "messages: b"),
        "a call at the end": (openai(USER, called("a")), "did not have response messages: a"),
        "an unknown role": (openai({"role": "robot", "content": "Hi!"}), "Invalid value: 'robot'"),
        "no content": (openai({"role": "assistant", "content": None}), "expected a string, got null"),
        "a long id": (openai(USER, called("a" * 41), answered("a" * 41)), "string too long"),
        "a prompt beyond the window": (openai(LONG), "This model's maximum context length is 1000 tokens"),
    }
    assert not _wrong(cases)
    assert (openai(LONG) or ("", ""))[1] == "context_length_exceeded"


def anthropic(*messages: Json, **fields: Any) -> Refusal:
    return anthropic_refusal({"max_tokens": 10, "messages": list(messages), "tools": [TOOL], **fields}, window=1000)


TOOL = {"name": "look", "input_schema": {"type": "object"}}
THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1024}}


def used(*ids: str, first: Json | None = None) -> Json:
    blocks = [{"type": "tool_use", "id": one, "name": "look", "input": {}} for one in ids]
    return {"role": "assistant", "content": [first, *blocks] if first else blocks}


def found(*ids: str) -> Json:
    blocks = [{"type": "tool_result", "tool_use_id": one, "content": "found"} for one in ids]
    return {"role": "user", "content": blocks}


def test_a_request_that_anthropic_refuses_is_refused_in_its_words() -> None:
    said = {"role": "assistant", "content": "Hello!"}
    unsigned, forged = (
        {"type": "thinking", "thinking": "Hm."},
        {"type": "thinking", "thinking": "Hm.", "signature": "x"},
    )
    cases: dict[str, tuple[Refusal, str | None]] = {
        "a whole talk": (anthropic(USER, used("a", "b"), found("a", "b"), said, USER), None),
        "no limit": (anthropic(USER, max_tokens=None), "max_tokens: Field required"),
        "no messages": (anthropic(), "at least one message is required"),
        "an assistant begins": (anthropic(said), 'first message must use the "user" role'),
        "two of one role": (anthropic(USER, USER), 'multiple "user" roles in a row'),
        "a system message inside": (anthropic(USER, {"role": "system", "content": "x"}), 'Unexpected role "system"'),
        "a name with a dot": (anthropic(USER, tools=[TOOL | {"name": "a.b"}]), "tools.0.custom.name"),
        "nothing said": (anthropic(USER, {"role": "assistant", "content": " "}), "non-whitespace text"),
        "no content": (anthropic({"role": "user", "content": []}), "must have non-empty content"),
        "an id with a dot": (anthropic(USER, used("a.b"), found("a.b")), "tool_use: String should match pattern"),
        "an id twice": (anthropic(USER, used("a"), found("a"), used("a"), found("a")), "ids must be unique"),
        "a call without its result": (anthropic(USER, used("a"), USER), "ids were found without `tool_result`"),
        "a call at the end": (anthropic(USER, used("a")), "ids were found without `tool_result`"),
        "a result without its call": (anthropic(found("a")), "unexpected `tool_use_id` found"),
        "calls without tools": (anthropic(USER, used("a"), found("a"), tools=[]), "must define tools"),
        "thinking left out": (anthropic(USER, used("a"), found("a"), **THINKING), "Expected `thinking`"),
        "thinking unsigned": (anthropic(USER, used("a", first=unsigned), found("a"), **THINKING), "Field required"),
        "thinking forged": (anthropic(USER, used("a", first=forged), found("a"), **THINKING), "Invalid `signature`"),
        "thinking that is cold": (anthropic(USER, temperature=0.3, **THINKING), "`temperature` may only be set to 1"),
        "thinking and a forced tool": (anthropic(USER, tool_choice={"type": "any"}, **THINKING), "forces tool use"),
        "a prompt beyond the window": (anthropic(LONG), "prompt is too long"),
    }
    assert not _wrong(cases)


def _wrong(cases: dict[str, tuple[Refusal, str | None]]) -> dict[str, Refusal]:
    """The cases that aren't refused as expected."""
    return {
        name: given
        for name, (given, expected) in cases.items()
        if (given is None) != (expected is None) or (given is not None and expected not in given[0])
    }
