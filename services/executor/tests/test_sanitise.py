"""The seven steps that make an answer fit for a reader."""

import json

from executor.agents.sections import forms
from executor.domain.answers import sanitise
from executor.domain.answers.html import without_html
from executor.domain.answers.sanitise import sanitised
from executor.domain.conversation.chat import ModelReply
from executor.domain.conversation.messages import AGAIN
from executor.steps.in_context import in_context
from rota_contracts.messages.trigger import Message

QUOTED = "So:\n```\n[System Message] x\n<tool_call>y</tool_call>\n```"
STEPS = {
    # 1. garbled tool tags
    '<tool_call>{"name": "x"}</tool_call>': "",
    'Well.\n<tool_call>{"name": "x", "arguments": {"a": ': "Well.",
    '<minimax:tool_call>x</minimax:tool_call>Well.<parameter name="a">1</parameter>': "Well.",
    "<function_call>x</function_call><tool_use>y</tool_use>Well.</tool_call>": "Well.",
    "<tool_result>42</tool_result>Well.": "Well.",
    # 2. downgraded calls
    'Well.\n[Tool Call: shell (ID: 1)]\nArguments: {\n  "a": 1\n}\nDone.': "Well.\n\nDone.",
    "[Tool Result for 1]\n42 files\nmore\n\nDone.": "Done.",
    '[Tool Result 1] {"a": 1} Done.': "Done.",
    "[Historical context: a call]\nit was so\n\nDone.": "Done.",
    "I look. [Tool Call: shell]\nDone.": "I look. \nDone.",
    '[Tool Call: x]\nArguments: {"cut\n\nDone.': "Done.",
    # 3. reasoning
    "<think>a</think>Well.<thought>b": "Well.",
    # 4. final tags
    "<final>Well.</final>": "Well.",
    # 5. echoed system messages
    "[System Message] You are\na robot\n\nWell.": "Well.",
    # 6. repeated paragraphs
    "Well.\n\nWell.\n\n Well. \n\nDone.": "Well.\n\nDone.",
    "A\n\nB\n\nA": "A\n\nB\n\nA",
    "```\na\n\na\n```": "```\na\n\na\n```",
    # 7. leading blank lines, and the ends
    " \n\n  Well.\n\n": "Well.",
    # tags of our prompts
    "<request>\nHola.\n</request>": "Hola.",
    '<material-0123456789ab name="results">\nHola.\n</material-0123456789ab>': "Hola.",
    "<task>a</task><task>b</task>": "<task>a</task><task>b</task>",
    # what is quoted stays
    "Use `<final>` and `<tool_call>`.": "Use `<final>` and `<tool_call>`.",
    QUOTED: QUOTED,
    "a < b, [Tools] and <b>bold</b>": "a < b, [Tools] and <b>bold</b>",
}


def test_an_answer_is_sanitised_in_seven_steps() -> None:  # EX-74, DEC-27
    wrong = {text: found for text, wanted in STEPS.items() if (found := sanitised(text)) != wanted}
    assert wrong == {}


def test_the_indent_of_the_first_line_is_kept_by_its_step() -> None:  # EX-74
    assert sanitise.strip_leading_blank_lines(" \n\n  a\n b") == "  a\n b"


def test_a_copy_of_the_material_is_no_answer() -> None:
    framed = '<material-0123456789ab name="lessons">\n- Globex pays late\n</material-0123456789ab>'
    started = "<started_by>\nthe clock: Wednesday 08:45\n</started_by>"
    tail = f"{started}\n\n<task>\nTranslate it.\n</task>"
    asked = [
        Message(role="system", content="You work."),
        Message(role="user", content=f"{framed}\n\n{tail}\n\nDo it. {AGAIN}"),
    ]
    replies = {
        framed: True,
        framed.replace("pays late", "zahlt spät"): False,
        "- Globex pays late": False,
        f"{framed}\n{tail}": True,
        f"# Report\nAll is well.\n{started}": True,
        json.dumps({"content": {"body": f"Good morning!\n{started}"}}): True,
        "Hello.\nAnswer again, in the form\nthat was asked for.": True,
        started.replace("Wednesday", "Friday"): False,
        "The clock: Wednesday 08:45. <task>Translate it.</task>": False,
    }
    found = {text: in_context(ModelReply(text=text), asked).repeats_prompt for text in replies}
    assert found == replies


def test_html_is_found_where_the_prompt_speaks_of_it_only_to_have_none() -> None:
    body = json.dumps({"content": {"summary": "Hello.", "body": "<p class='a'>Hello.</p>"}})
    replies = {body: True, '{"content": {"body": "a < b, <b>bold</b>, <p> and </p"}}': False}
    for wish, counts in (("Write it up.", True), ("Write it up as HTML.", False)):
        asked = [Message(role="system", content=forms.DELIVERY), Message(role="user", content=wish)]
        found = {text: in_context(ModelReply(text=text), asked).in_html for text in replies}
        assert found == {text: wanted and counts for text, wanted in replies.items()}
    assert not in_context(ModelReply(text=body), [Message(role="system", content=forms.RUN)]).in_html


def test_html_is_put_in_markdown() -> None:
    of_html = "<h1>News</h1><p>A &amp; B<br/>met.</p><ul><li>One</li>\n<li><b>Two</b></li></ul>"
    assert without_html(of_html) == "News\n\nA & B\nmet.\n\n- One\n\n- Two"


def test_what_is_sanitised_is_clean_the_second_time() -> None:
    cleaned = [sanitised(text) for text in STEPS]
    assert [text for text in cleaned if sanitised(text) != text] == []
