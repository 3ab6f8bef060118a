"""Pieces of an answer while it is written: nothing in them is ever taken out of the answer later (EX-46)."""

import json
from collections.abc import Collection
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st
from services.executor.tests.fixtures import a_task, with_tasks
from services.executor.tests.harness import StepHarness

from executor.adapters.in_memory import ScriptedModel
from executor.domain.answers.pieces import LEAST, LONGEST, Pieces
from executor.domain.answers.understand import understand
from executor.domain.conversation.chat import ModelReply
from executor.model_port import Prompt
from rota_common.redaction import forms, hides_nothing, without_credentials

LONG = "The quarter went well in Porto, where the second factory began its work in May. "
PARTS = [
    LONG,
    "Well.",
    "Well.\n\n",
    f"{LONG}\n\n{LONG}\n\n",
    "\n\n",
    " ",
    "- one\n- two\n",
    "**bold** `code` (aside)",
    "<think>secret thoughts</think>",
    '<tool_call>{"name": "x", "arguments": {}}</tool_call>',
    "<final>Well.</final>",
    "[Tool Call: shell]\nArguments: {}\n",
    "[System Message] You are a robot\n",
    "```\n[System Message] x\n```\n",
    "api_key=sk-abcdefghijklmnopqrstuvwx1234567890 ",
    "password: hunter2hunter2\n",
    "NO_REPLY",
    "*\n",
]


SECRETS = ["Blue-Heron-4471", 'say "friend". and enter, my\nold companion.', "first line\nsecond line\n"]
"""Of a team: also with the ends of sentences and lines in them, at which pieces end."""

SPEECH = [*PARTS, *SECRETS, *(form for secret in SECRETS for form in forms(secret))]


def streamed(text: str, cuts: list[int], *, known: Collection[str] = ()) -> tuple[str, list[str], str]:
    """The whole answer, the pieces before its end was known, and all pieces together; "" if they were cleared."""
    answer = understand(ModelReply(text=text)).text
    pieces, early = Pieces(known=known), list[str]()
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    for begin, end in pairwise(places):
        early += pieces.feed(text[begin:end])
    rest = pieces.end(answer)
    return answer, early, "" if rest is None else "".join([*early, *rest])


@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join), st.lists(st.integers(0, 2000), max_size=20))
@example(f"{LONG}Well.\n*\nNO_REPLY", [1, 90, 91, 100])
@example(f"{LONG}\n\n{LONG}", list(range(0, 200, 7)))
def test_pieces_are_the_beginning_of_the_answer_and_together_all_of_it(text: str, cuts: list[int]) -> None:
    answer, early, whole = streamed(text, cuts)
    sent = "".join(early)
    assert answer.startswith(sent)
    assert hides_nothing(sent)
    assert all(len(piece) >= LEAST for piece in early)
    assert whole == (answer if hides_nothing(answer) else sent)


@given(st.lists(st.sampled_from(SPEECH), max_size=8).map(" ".join), st.lists(st.integers(0, 2000), max_size=40))
@example(f"{LONG}{LONG}{SECRETS[1]}", list(range(0, 300, 3)))
@example(f"{LONG}{LONG}{json.dumps(SECRETS[1])}", list(range(0, 300, 3)))
@example(f"{LONG}{LONG}{SECRETS[2]}", list(range(0, 300, 3)))
def test_no_piece_holds_a_secret_of_the_team_or_the_beginning_of_one(text: str, cuts: list[int]) -> None:
    """However it is written, and wherever the model's bits and the pieces are cut."""
    answer, early, whole = streamed(text, cuts, known=SECRETS)
    for sent in ("".join(early), whole):
        assert hides_nothing(sent, SECRETS)
        assert without_credentials(answer, SECRETS).startswith(sent)


def test_of_a_very_long_answer_the_rest_comes_at_its_end() -> None:
    text = "\n".join(f"{number}. {LONG}" for number in range(2 * LONGEST // len(LONG))).strip()
    answer, early, whole = streamed(text, list(range(0, len(text), 997)))
    assert LONGEST / 2 < len("".join(early)) < LONGEST + 2 * len(LONG) + 997
    assert whole == answer


async def test_a_turns_answer_is_streamed_and_cleared_where_it_becomes_none() -> None:
    text = f"{LONG}{LONG}\n{LONG}Done."
    asked_again = f'{LONG}\n{LONG}<tool_call>{{"name": "unknown"}}</tool_call>'

    async def writes(prompt: Prompt) -> str:
        assert prompt.on_text is not None
        words = asked_again if len(harness.model.prompts) == 1 else text
        for begin in range(0, len(words), 11):
            await prompt.on_text(words[begin : begin + 11])
        return words

    harness = StepHarness(ScriptedModel(answer=writes))
    run = await harness.task_done(with_tasks(a_task(1)))
    assert run.execution.results[0].output is not None
    assert run.execution.results[0].output.inline == text
    numbers = [number for number, _ in harness.pieces]
    cleared = numbers.index(0)
    assert numbers[cleared + 1 :] == [*range(1, len(numbers) - cleared)]
    assert "".join(piece for _, piece in harness.pieces[cleared + 1 :]) == text
    assert "tool_call" not in "".join(piece for _, piece in harness.pieces)
