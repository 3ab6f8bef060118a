"""The context of a model: estimates, pruning, the repair of a history, and the budget of a prompt."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from executor.domain.context import budget
from executor.domain.context.budget import fit, fit_tools, limit_of, window_of
from executor.domain.context.history import MISSING, limit_turns, merged, prepared, sanitise_history
from executor.domain.context.prune import CLEARED, prune
from executor.domain.context.tokens import PER_MESSAGE, conversation_tokens, tokens, tool_tokens
from executor.domain.conversation.chat import ChatMessage, Thinking, Tool, ToolCall
from rota_common.material import Frame, joined
from rota_contracts.messages.trigger import Message

FRAME = Frame("abcdef123456")


def says(text: str) -> Message:
    return Message(role="user", content=text)


def answers(text: str, *ids: str, **arguments: Any) -> ChatMessage:
    calls = [ToolCall(id=each, name="crm__lookup", arguments=arguments) for each in ids]
    return ChatMessage(role="assistant", content=text, tool_calls=calls)


def thinks(message: ChatMessage, reasoning: str) -> ChatMessage:
    return message.model_copy(update={"thinking": Thinking(reasoning=reasoning)})


def found(call_id: str, text: str = "found") -> ChatMessage:
    return ChatMessage(role="tool", content=text, tool_call_id=call_id)


def texts(messages: list[Message]) -> list[str]:
    return [message.text() for message in messages]


def rounds(*sizes: int) -> list[Message]:
    """Rounds of one call each, with results of so many characters."""
    return [
        message for n, size in enumerate(sizes) for message in (answers(f"a{n}", f"c{n}"), found(f"c{n}", "x" * size))
    ]


def test_tokens_are_estimated_from_characters() -> None:
    cases = {"": 0, "abcd": 1, "abcde": 2, "日本語": 3, "Grüße": 3}
    assert {text: tokens(text) for text in cases} == cases
    picture: dict[str, Any] = {"type": "image_url", "image_url": {"url": "data:" + "x" * 100_000}}
    sizes = [
        conversation_tokens([each])
        for each in (says("abcd"), Message(content=[picture]), answers("", "c1", name="Globex"))
    ]
    assert sizes == [
        PER_MESSAGE + 1,
        PER_MESSAGE + 1_600,
        PER_MESSAGE + PER_MESSAGE + tokens('c1crm__lookup{"name": "Globex"}'),
    ]


def test_the_last_turns_of_users_are_kept_with_all_that_belongs_to_them() -> None:  # EX-68
    history = [says("1"), answers("one"), says("2"), answers("", "c1"), found("c1"), answers("two"), says("3")]
    assert [texts(limit_turns(history, n)) for n in (1, 2)] == [["3"], ["2", "", "found", "two", "3"]]
    assert [limit_turns(history, n) for n in (0, -1, 3, 4)] == [history] * 4


def test_neighbours_of_one_role_are_merged_and_results_are_not() -> None:  # EX-41
    history = [says("1"), says("2"), answers("I see"), answers("so", "c1", "c2"), found("c1", "a"), found("c2", "b")]
    assert texts(merged(history)) == ["1\n\n2", "I see\n\nso", "a", "b"]
    pictures = merged([Message(content=[{"type": "text", "text": "look"}]), says("there")])
    assert (len(pictures), pictures[0].text()) == (1, "look\nthere")


def test_a_broken_history_is_repaired() -> None:  # EX-69
    history = [
        found("c0", "an orphan at the beginning"), says("hello"),
        answers("", "c1", "c2"), found("c9", "of no call"), found("c2", "two"), found("c2", "two, again"),
        says("well?"), found("c1", "too late"), answers("", "c3"),
    ]  # fmt: skip
    repaired = sanitise_history(history)
    assert [(message.role, message.text()) for message in repaired] == [
        ("user", "hello"), ("assistant", ""), ("tool", MISSING), ("tool", "two"), ("user", "well?"),
        ("assistant", ""), ("tool", MISSING),
    ]  # fmt: skip
    assert MISSING == "[Tool result missing -- session was compacted]"


def test_results_are_pruned_by_the_numbers_of_the_document() -> None:  # EX-70 EX-71 EX-72
    long = "".join(f"{n:05}" for n in range(1_000))
    history = [found("c", long), *rounds(4_000, 4_001, 0, 0), answers("", "last"), found("last", long)]
    size = conversation_tokens(history)
    assert prune(history, window=size * 10 // 3 + 10) == history  # below 30 %
    soft = prune(history, window=size * 10 // 3 - 10)
    assert soft[0].text() == f"{long[:1500]}...{long[-1500:]}"
    assert [len(message.text()) for message in soft if message.role == "tool"] == [3_003, 4_000, 3_003, 0, 0, 5_000]
    assert prune(history, window=size) == soft  # beyond 50 %, but there is less to clear than it takes


def test_old_results_are_cleared_until_half_of_the_window_is_free() -> None:  # EX-71 EX-72 DEC-51
    sizes, last = [3_900] * 13, [9_000] * 3
    history = [says("x" * 20_000), *rounds(*sizes, *last)]
    cleared = prune(history, window=41_000)
    results = [message.text() for message in cleared if message.role == "tool"]
    gone = results.index("x" * 3_900)
    assert results == [CLEARED] * gone + ["x" * 3_900] * (13 - gone) + ["x" * 9_000] * 3  # the last answers' are whole
    assert CLEARED == "[Old tool result content cleared]"
    assert 0.5 > conversation_tokens(cleared) / 41_000 > 0.5 - 0.03
    assert cleared[0] == history[0]
    fewer = [says("x" * 20_000), *rounds(*sizes[:-1], *last)]  # 46,800 characters together: below 50,000
    assert CLEARED not in texts(prune(fewer, window=20_000))


def test_the_pipeline_limits_prunes_and_repairs_in_this_order() -> None:  # EX-67
    history = [says("old"), answers("", "c0"), says("new"), found("c0"), *rounds(9_000, 0, 0, 0)]
    trimmed = "x" * 1500 + "..." + "x" * 1500
    expected = ["new", "a0", trimmed, "a1", "", "a2", "", "a3", ""]
    assert texts(prepared(history, window=1_000, turns=1)) == expected


def test_a_connector_without_a_window_has_the_default() -> None:  # EX-81
    assert {given: window_of(given) for given in (-1, 0, 32_000, 10)} == {
        -1: 200_000, 0: 200_000, 32_000: 32_000, 10: budget.LEAST_WINDOW,
    }  # fmt: skip


def question(**sizes: int) -> Message:
    parts = [FRAME.material(name.replace("_", " "), "x" * size) for name, size in sizes.items()]
    return says(joined(*parts, "<request>\nLook at Globex\n</request>"))


def test_a_prompt_that_fits_is_left_as_it_is_and_lessons_go_before_the_request() -> None:
    system = Message(role="system", content="You are a clerk.")
    messages = [system, question(knowledge_of_the_team=16_000, lessons_of_earlier_runs=16_000, results=3_000)]
    assert fit(messages, (), window=16_000, mark=FRAME.mark) == messages
    shorter = fit(messages, (), window=9_000, mark=FRAME.mark)[1].text()
    without, known = shorter.split("</material-abcdef123456>")[1::-1]
    assert "characters left out, which don't fit into the context]" in without
    assert "left out" not in known
    made = fit(messages, (), window=5_000, mark=FRAME.mark)
    assert limit_of(5_000) - 50 < conversation_tokens(made) <= limit_of(5_000)
    least = made[1].text()
    assert least.count("[left out: it doesn't fit into the context]") == 1
    assert ("x" * 3_000 in least, "Look at Globex" in least) == (True, True)


def test_tools_that_take_too_much_lose_their_descriptions_before_any_is_left_out() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"name": {"type": "string", "description": "x" * 1_000}}}
    tools = [Tool(f"crm__{n}", "crm", str(n), "y" * 5_000, schema) for n in range(10)]
    assert fit_tools(tools, 200_000) == tools
    lengths = [{len(tool.description) for tool in fit_tools(tools, window)} for window in (40_000, 5_000)]
    assert lengths == [{200}, {200}]
    assert [tool.parameters["properties"] for tool in fit_tools(tools, 5_000)] == [{"name": {}}] * 10
    few = fit_tools(tools, 1_000)
    assert 0 < len(few) < 10
    assert tool_tokens(few) <= 250


PIECES = st.sampled_from(["", "word ", "日本", '\n"', "😀"])
TEXTS = st.builds(lambda piece, times: piece * times, PIECES, st.integers(0, 9_000))
IDS = st.sampled_from(["c1", "c2", "c3", "call_" + "0" * 59])
CALLED = st.lists(IDS, max_size=16, unique=True)
PICTURE: dict[str, Any] = {"type": "image_url", "image_url": {}}
ONE = st.one_of(
    st.builds(says, TEXTS),
    st.builds(lambda text: Message(content=[{"type": "text", "text": text}, PICTURE]), TEXTS),
    st.builds(found, IDS, TEXTS),
    st.builds(lambda text, ids, given: answers(text, *ids, given=given), TEXTS, CALLED, TEXTS),
    st.builds(lambda text, ids: thinks(answers("", *ids), text), TEXTS, CALLED),
)


@settings(deadline=None)
@given(TEXTS, st.lists(ONE, max_size=40), st.integers(0, 60), st.sampled_from([1_000, 4_096, 32_000]))
def test_any_history_fits_and_keeps_calls_and_results_in_pairs(
    system: str, history: list[Message], offered: int, window: int
) -> None:  # EX-67 EX-69
    tools = fit_tools([Tool(f"crm__{n}", "crm", str(n), "z" * 300) for n in range(offered)], window)
    made = fit([Message(role="system", content=system), says("go"), *history], tools, window=window)
    assert conversation_tokens(made) + tool_tokens(tools) <= limit_of(window)
    assert sanitise_history(made) == made
    assert made[0].text() == system or "left out" in made[0].text()
