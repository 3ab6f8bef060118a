"""The understanding of a reply: reasoning apart, then calls in text, then the rest for a reader."""

import json
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from executor.domain.answers.reasoning import NAMES, split_reasoning
from executor.domain.answers.understand import understand, with_quoted
from executor.domain.conversation.chat import ModelReply, Tool, ToolCall

SHELL, READ, LOOKUP = Tool("shell", "os", "shell"), Tool("read_file", "os", "read_file"), Tool("crm__get", "crm", "get")
TOOLS = [SHELL, READ, LOOKUP]
CALL = {"name": "shell", "arguments": {"command": "ls -la"}}
JSON, LIST = json.dumps(CALL), json.dumps([CALL])

ANSWERS = {
    "<think>a</think>b": ("b", "a"),
    "<think>a<think>b</think>c</think>d": ("d", "a\nb\nc"),
    "b<think>a": ("b", "a"),
    "a</think>b": ("b", "a"),
    "one<think>a</think>two</think>": ("onetwo", "a"),
    "<THINK reason='x'>a</Think >b": ("b", "a"),
    "<thinking>a</thinking>b": ("b", "a"),
    "[THINK]a[/THINK]b": ("b", "a"),
    "◁think▷a◁/think▷b": ("b", "a"),
    "<|begin_of_thought|>a<|end_of_thought|><|begin_of_solution|>b<|end_of_solution|>": ("b", "a"),
    "<think/>b": ("b", ""),
    "```json\n<think>a</think>{}\n```": ("```json\n{}\n```", "a"),
    "a `<think>` tag": ("a `<think>` tag", ""),
    "```\n<think>\n```": ("```", "```"),  # a fence that opens with reasoning quotes nothing
    "say\n```\n<think>\n```": ("say\n```\n<think>\n```", ""),
    "<|channel|>final<|message|>b<|return|>": ("b", ""),
    "plain < text > with <b>tags</b>, a <thinker> and <rethink>": (
        "plain < text > with <b>tags</b>, a <thinker> and <rethink>",
        "",
    ),
}


def test_reasoning_is_set_apart() -> None:  # EX-45, DEC-27, DEC-49
    named = {f"<{name}>a</{name}>b": ("b", "a") for name in NAMES}
    wrong = [(text, found) for text, want in (ANSWERS | named).items() if (found := split_reasoning(text)) != want]
    assert wrong == []


def test_reasoning_of_the_provider_stands_before_that_of_the_text() -> None:  # EX-45
    found = understand(ModelReply(text="<think>b</think>c", reasoning="a"))
    assert (found.text, found.reasoning) == ("c", "a\nb")


FORMS = [
    JSON,
    f"```json\n{JSON}\n```",
    f"<tool_call>{JSON}</tool_call>",
    f"<tool_call>\n{JSON[:-1]},}}\n</tool_call>",
    f"<tool_call>{JSON}",
    f"<tool_call>{JSON}</invoke>",
    *(
        f"<{name}>{JSON}</{name}>"
        for name in ("tool-call", "toolcall", "function_call", "tool_use", "minimax:tool_call")
    ),
    f"<tool_calls><tool_call>{JSON}</tool_call></tool_calls>",
    f"<tool_call>```json\n{JSON}\n```</tool_call>",
    '<invoke name="shell"><parameter name="command">ls -la</parameter></invoke>',
    '<function_calls><invoke name="shell"><parameter name="command">ls -la</parameter></invoke></function_calls>',
    "<function=shell>\n<parameter=command>\nls -la\n</parameter>\n</function>",
    "<tool_call>\n<function=shell>\n<parameter=command>\nls -la\n</parameter>\n</function>\n</tool_call>",
    '<tool_use><name>shell</name><arguments>{"command": "ls -la"}</arguments></tool_use>',
    "<tool_call><shell><command>ls -la</command></shell></tool_call>",
    '<tool_call><shell>{"command": "ls -la"}</shell></tool_call>',
    "<tool_call>shell\n<arg_key>command</arg_key>\n<arg_value>ls -la</arg_value>\n</tool_call>",
    '<tool_call>shell\n{"command": "ls -la"}</tool_call>',
    f"[TOOL_CALLS]{LIST}",
    f"[TOOL_CALL]{JSON}[/TOOL_CALL]",
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>shell\n```json\n"
    '{"command": "ls -la"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    f"```tool_call\n{JSON}\n```",
    f"```tool_call\n{JSON}\n</tool_call>",
    '```tool shell\n{"command": "ls -la"}\n```',
    f"```xml\n<tool_call>{JSON}</tool_call>\n```",
    json.dumps({"tool_calls": [CALL]}),
    json.dumps({"content": "", "tool_calls": [{"id": "1", "type": "function", "function": CALL}]}),
    json.dumps({"tool_calls": [{"function": CALL | {"arguments": '{"command": "ls -la"}'}}]}),
    json.dumps({"function_call": CALL}),
    JSON,
    json.dumps(CALL | {"arguments": '{"command": "ls -la"}'}),
    "shell/command>ls -la",
    'shell/{"command": "ls -la"}',
]


def test_calls_in_text_are_read_in_every_form() -> None:  # EX-47
    wrong = []
    for text in FORMS:
        found = understand(ModelReply(text=text), TOOLS)
        if [(call.name, call.arguments) for call in found.calls] != [("shell", CALL["arguments"])] or found.text:
            wrong.append((text, found))
    assert wrong == []


def test_calls_stand_beside_text_and_beside_each_other() -> None:  # EX-47
    other = {"name": "read_file", "arguments": {"path": "</tool_call>.md"}}
    text = f"I'll look.\n<tool_call>{JSON}</tool_call>\n<tool_call>{json.dumps(other)}</tool_call>\nThen I answer."
    found = understand(ModelReply(text=text), TOOLS)
    assert [call.model_dump() for call in found.calls] == [{"id": "text-1", **CALL}, {"id": "text-2", **other}]
    assert found.text == "I'll look.\n\n\nThen I answer."


def test_a_call_that_can_not_be_read_is_shown_to_the_model() -> None:
    (call,) = understand(ModelReply(text='<tool_call>shell {"command": ls}</tool_call>'), TOOLS).calls
    assert call.arguments == {"_unreadable": '{"command": ls}'}


NO_CALLS = [
    f"Here is an example: {JSON}",
    f"<think><tool_call>{JSON}</tool_call></think>done",
    f"<tool_call>{JSON}</tool_call></think>done",
    f"Write `<tool_call>{JSON}</tool_call>` for that.",
    f"An example:\n```xml\n<tool_call>{JSON}</tool_call>\n```\nThat is all.",
    f"An example:\n```json\n{JSON}\n```\nThat is all.",
    "see docs/command>ls",
    f"<tool_result>{JSON}</tool_result>done",
    '{"tool_calls": "none"}',
    f"He says: {json.dumps({'tool_calls': [CALL]})}",
]


def test_nothing_else_is_a_call() -> None:  # EX-47, DEC-49
    assert [text for text in NO_CALLS if understand(ModelReply(text=text), TOOLS).calls] == []
    assert [text for text in FORMS if understand(ModelReply(text=text)).calls] == []


def test_native_calls_go_before_calls_in_text() -> None:  # DEC-49
    said = ModelReply(text=f"<tool_call>{JSON}</tool_call>", calls=[ToolCall(id="c1", name="read_file")])
    found = understand(said, TOOLS)
    assert ([call.id for call in found.calls], found.text) == (["c1"], "")


def test_names_of_tools_have_aliases() -> None:  # EX-48, DEC-53
    meant = {
        "bash": "shell",
        "functions.shell": "shell",
        "Shell": "shell",
        "fileread": "read_file",
        "file_read": "read_file",
        "crm.get": "crm__get",
        "get": "crm__get",
        "filewrite": "filewrite",  # there is no such tool
    }
    said = [ModelReply(calls=[ToolCall(id="c", name=name)]) for name in meant]
    assert [understand(each, TOOLS).calls[0].name for each in said] == [*meant.values()]
    two = [*TOOLS, Tool("hr__get", "hr", "get")]
    assert understand(ModelReply(calls=[ToolCall(id="c", name="get")]), two).calls[0].name == "get"


MATERIAL = [
    f"<tool_call>{JSON}</tool_call>",
    f"A mail:\n<tool_call>\n  {JSON}\n</tool_call>",
    json.dumps({"body": f"<tool_call>{JSON}</tool_call>"}),
    f"```tool_call\n{JSON}\n```",
    '<invoke name="shell"><parameter name="command">ls -la</parameter></invoke>',
]


def test_a_call_that_others_wrote_is_not_the_models() -> None:  # DEC-49
    said = ModelReply(text=f"The mail says <tool_call>{JSON}</tool_call>, oddly.")
    marked = [with_quoted(said, TOOLS, [material]) for material in MATERIAL]
    assert [material for material, each in zip(MATERIAL, marked, strict=True) if understand(each, TOOLS).calls] == []
    assert understand(marked[0], TOOLS).text == "The mail says , oddly."
    assert understand(with_quoted(said, TOOLS, ["Nothing of it, ls -la."]), TOOLS).calls
    assert understand(ModelReply.model_validate_json(marked[0].model_dump_json()), TOOLS).calls == ()


SILENCE = {
    "NO_REPLY": ("", True),
    "**NO_REPLY**.": ("", True),
    "NO_REPLY\nThere is nothing to say.": ("", True),
    "<think>hm</think>\n\nNO_REPLY": ("", True),
    "All is well.\n\nNO_REPLY": ("All is well.", False),
    "All is well. `NO_REPLY`": ("All is well.", False),
    "Answer NO_REPLY to be silent.": ("Answer NO_REPLY to be silent.", False),
    "NO_REPLYING": ("NO_REPLYING", False),
}


def test_no_reply_is_silent_alone_or_first_and_cut_off_last() -> None:  # EX-75, DEC-22
    found = {text: understand(ModelReply(text=text)) for text in SILENCE}
    assert {text: (each.text, each.silent) for text, each in found.items()} == SILENCE


MARKS = [
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "{",
    "}",
    '"name": "shell"',
    "```",
    "[Tool Call: x]",
    "\n\n",
]
MARKS += [
    "<invoke name='a'>",
    "<parameter name=",
    "shell/",
    "NO_REPLY",
    "[System Message]",
    "<final>",
    "`",
    "[TOOL_CALLS][",
]


@settings(max_examples=300)
@given(st.lists(st.sampled_from(MARKS) | st.text(max_size=5), max_size=15).map("".join), st.booleans())
def test_garbage_is_understood_somehow(text: str, offered: bool) -> None:
    said = ModelReply(text=text)
    found = understand(with_quoted(said, TOOLS, [text]), TOOLS if offered else ())
    assert found.calls == ()
    assert understand(said, TOOLS, version=0).text == said.text


@settings(max_examples=200)
@given(
    st.text(st.characters(exclude_characters="<`◁[{", exclude_categories=["Cs"])).filter(
        lambda text: "NO_REPLY" not in text
    )
)
def test_text_without_a_mark_passes_unchanged(text: str) -> None:
    paragraphs: list[Any] = [part.strip() for part in text.split("\n\n")]
    repeated = any(one and one == other for one, other in pairwise(paragraphs))
    said = understand(ModelReply(text=text), TOOLS).text
    assert repeated or "/" in text or said == text.strip()
